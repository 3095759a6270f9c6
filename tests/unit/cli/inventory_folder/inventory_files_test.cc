#include "cli/inventory_folder/inventory_files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/connection.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

class InventoryFilesTest : public ::testing::Test {
 protected:
  InventoryFilesTest() : root_(::testing::TempDir() + "/inventory-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
  }
  ~InventoryFilesTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text = "x: 1\n") {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::map<std::string, std::string> Read(const std::string& path) {
    std::map<std::string, std::string> found;
    const auto files = ReadInventoryFiles(root_ + path);
    EXPECT_OK(files);
    if (!files.ok()) return found;
    for (const v1::InventoryFile& file : *files) found[file.path()] = file.content();
    return found;
  }
  const std::string root_;
};

TEST_F(InventoryFilesTest, HardwareFilesBesideTheClusterAreNoInventory) {
  Write("/inventory/cluster.yaml", "cluster: x\n");
  Write("/inventory/group_vars/gpu.yml");
  Write("/inventory/node_vars/c001.yaml");
  Write("/inventory/hardware/h100.yaml", "kind: gpu\n");
  Write("/inventory/hardware/old/t4.yaml", "kind: gpu\n");
  Write("/inventory/racks/hardware/r1.yaml");
  Write("/inventory/.git/config.yaml");
  Write("/inventory/README.md");
  EXPECT_THAT(Read("/inventory"), UnorderedElementsAre(Key("inventory/cluster.yaml"),
                                                       Key("inventory/group_vars/gpu.yml"),
                                                       Key("inventory/node_vars/c001.yaml"),
                                                       Key("inventory/racks/hardware/r1.yaml")));
  // A file named by itself keeps the given name.
  EXPECT_THAT(Read("/inventory/hardware/h100.yaml"), UnorderedElementsAre(Key("h100.yaml")));
}

TEST_F(InventoryFilesTest, LinksToFoldersAreFollowed) {
  Write("/inventory/cluster.yaml", "cluster: x\n");
  Write("/shared/group_vars/gpu.yaml");
  Write("/shared/nodes.yaml");
  std::filesystem::create_directory_symlink("../shared/group_vars",
                                            root_ + "/inventory/group_vars");
  std::filesystem::create_symlink("../shared/nodes.yaml", root_ + "/inventory/nodes.yaml");
  EXPECT_THAT(Read("/inventory"), UnorderedElementsAre(Key("inventory/cluster.yaml"),
                                                       Key("inventory/group_vars/gpu.yaml"),
                                                       Key("inventory/nodes.yaml")));
}

TEST_F(InventoryFilesTest, ALinkToAFolderAboveItIsRefused) {
  // The last one leads to no folder above it by name, but to one that was entered by a link.
  for (const auto& [link, target] : std::map<std::string, std::string>{
           {"inventory/site", ".."}, {"inventory/racks/all", "../"}, {"shared/again", "."}}) {
    SCOPED_TRACE(link);
    std::filesystem::remove_all(root_);
    Write("/inventory/cluster.yaml", "cluster: x\n");
    Write("/inventory/racks/r1.yaml");
    Write("/shared/gpu.yaml");
    Write("/playbooks/host_vars/c001.yaml");
    std::filesystem::create_directory_symlink("../shared", root_ + "/inventory/group_vars");
    const std::filesystem::path place = root_ + "/" + link;
    std::filesystem::create_directory_symlink(target, place);
    const absl::Status status = ReadInventoryFiles(root_ + "/inventory").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string name = place.filename().string();
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(::testing::HasSubstr("/" + name + ": a link to "),
                                 ::testing::HasSubstr("rename it to ." + name)));
    std::filesystem::rename(place, place.parent_path() / ("." + name));
    EXPECT_THAT(Read("/inventory"), UnorderedElementsAre(Key("inventory/cluster.yaml"),
                                                         Key("inventory/group_vars/gpu.yaml"),
                                                         Key("inventory/racks/r1.yaml")));
  }
}

TEST_F(InventoryFilesTest, AFileThatIsNotReadCannotFail) {
  Write("/inventory/cluster.yaml", "cluster: x\n");
  std::filesystem::create_symlink("notes.md", root_ + "/inventory/notes.md");
  EXPECT_THAT(Read("/inventory"), UnorderedElementsAre(Key("inventory/cluster.yaml")));
  std::filesystem::create_symlink("nodes.yaml", root_ + "/inventory/nodes.yaml");
  EXPECT_EQ(ReadInventoryFiles(root_ + "/inventory").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(InventoryFilesTest, AFolderWithHardwareAloneHoldsNoInventory) {
  Write("/inventory/hardware/h100.yaml");
  EXPECT_THAT(ReadInventoryFiles(root_ + "/inventory"),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(InventoryFilesTest, NothingInAFolderOfVariablesIsLeftOutSilently) {
  for (const char* path :
       {"group_vars/gpu", "node_vars/c001", "group_vars/gpu/main.yaml", "group_vars/gpu/main",
        "host_vars/c001.yaml", "host_vars/c001", "host_vars/c001/main.yaml", "racks/group_vars/gpu",
        "group_vars/gpu.json", "group_vars/gpu.YAML", "node_vars/c001.Yml", "nodes.YAML"}) {
    SCOPED_TRACE(path);
    std::filesystem::remove_all(root_);
    Write("/inventory/cluster.yaml", "cluster: x\n");
    Write(std::string("/inventory/") + path);
    const absl::Status status = ReadInventoryFiles(root_ + "/inventory").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                ::testing::StartsWith(std::string("inventory/") + path + ": "));
  }
  std::filesystem::remove_all(root_);
  Write("/inventory/cluster.yaml", "cluster: x\n");
  Write("/inventory/LICENSE");
  Write("/inventory/leases.json");
  Write("/inventory/group_vars/README.md");
  Write("/inventory/group_vars/.gpu");
  EXPECT_THAT(Read("/inventory"), UnorderedElementsAre(Key("inventory/cluster.yaml")));
}

TEST(Refusal, BecomesAnErrorWithAllThatIsWrong) {
  v1::Refusal refusal;
  refusal.set_code(static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  refusal.add_errors("a.yaml:1:1: x");
  refusal.add_errors("a.yaml:2:1: y");
  EXPECT_THAT(ToStatus(refusal),
              StatusIs(absl::StatusCode::kInvalidArgument, "a.yaml:1:1: x\n\na.yaml:2:1: y"));
  refusal.set_more(7);
  EXPECT_THAT(ToStatus(refusal), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::cli
