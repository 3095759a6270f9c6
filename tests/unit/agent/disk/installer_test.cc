#include "agent/disk/installer.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/disk/esp.h"
#include "common/base/digest.h"
#include "common/sys/file_system.h"
#include "common/value/disk_layout.h"
#include "tests/fakes/fake_disk_tools.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::Acts;
using ::muster::testing::CountedFiles;
using ::muster::testing::Death;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// In memory: what is counted here are acts, and each of them is synced.
class MemoryFolder {
 public:
  MemoryFolder() : path_(::mkdtemp(pattern_.data())) {}
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string pattern_ = "/dev/shm/muster-test-XXXXXX";
  const std::string path_;
};

// A machine with one disk that boots an image into memory and installs it.
class Machine {
 public:
  Machine() { std::filesystem::create_directories(folder_.path() + "/disk"); }

  // An image whose root, kernel and initramfs say which it is.
  InstallOrder Image(const std::string& name, uint64_t root_mib = 64) {
    const std::string tree = absl::StrCat(folder_.path(), "/tree-", name);
    v1::ImageManifest manifest;
    manifest.set_name(name);
    manifest.set_kind("disk");
    manifest.add_kernel_arguments("boot=muster");
    manifest.add_kernel_arguments("console=ttyS0");
    v1::DiskLayout& layout = *manifest.mutable_disk();
    layout.set_device("blank");
    layout.set_esp_mib(64);
    layout.set_root_mib(root_mib);
    layout.set_state_mib(128);
    v1::DiskPartition& scratch = *layout.add_partitions();
    scratch.set_name("scratch");
    scratch.set_file_system("xfs");
    Put(tree + kImageInRoot, manifest.SerializeAsString());
    Put(tree + "/boot/vmlinuz-6.1", "kernel of " + name);
    Put(tree + "/boot/initrd.img-6.1", "initrd of " + name);
    Put(tree + "/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "loader of " + name);
    const std::string root = absl::StrCat(folder_.path(), "/root-", name);
    Put(root, "root of " + name);
    tools.images[root] = tree;
    return {.root_file = root,
            .sha256 = Sha256Hex("root of " + name),
            .image = name + "@1a2b3c4d5e6f",
            .report = "http://10.0.0.1:7483/report/x",
            .join = "c001,login1:7444,login1:7443,sha256:ab"};
  }

  // The same, booted by what was signed, which says which image it is of.
  InstallOrder Signed(const std::string& name) {
    InstallOrder order = Image(name);
    order.signed_loader = absl::StrCat(folder_.path(), "/loader-", name);
    order.signed_kernel = absl::StrCat(folder_.path(), "/kernel-", name);
    order.node = "c001";
    Put(order.signed_loader, "signed loader");
    Put(order.signed_kernel, "signed for " + name);
    return order;
  }

  absl::StatusOr<Installed> Install(const InstallOrder& order) {
    Installer installer({.files = files,
                         .tools = tools,
                         .devices = tools.devices,
                         .work = folder_.path() + "/work",
                         .say = [this](absl::string_view line) { said.emplace_back(line); },
                         .on_piece = [this](uint64_t, uint64_t) { acts.Count(); }});
    return installer.Install(order);
  }

  // What the machine comes up with: as the loader chooses, and as the initramfs checks it. "": the
  // firmware finds nothing. "broken": not what the entry says.
  std::string Boot() {
    const std::string esp = Esp();
    if (esp.empty() || !std::filesystem::exists(esp + "/EFI/BOOT/BOOTX64.EFI")) return "";
    sys::RealFileSystem real;
    const auto entries = ReadEntries(esp, real).value();
    const BootEntry* best = nullptr;
    for (const BootEntry& each : entries) {
      if (each.tries_left == 0) continue;
      if (best == nullptr || each.generation > best->generation) best = &each;
    }
    if (best == nullptr) return "";
    const Partition& root =
        *tools.table->Find(best->slot == 'a' ? kRootAPartition : kRootBPartition);
    if (best->is_signed) return BootSigned(*best, TextOf(root.device));
    uint64_t size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(best->words.at("muster.size"), &size));
    const std::string name = best->image.substr(0, best->image.find('@'));
    const std::string folder = absl::StrCat(esp, "/muster/", std::string(1, best->slot));
    const bool is_whole =
        Sha256Hex(TextOf(root.device).substr(0, size)) == best->words.at("muster.sha256") &&
        TextOf(folder + "/kernel") == "kernel of " + name &&
        TextOf(folder + "/initrd") == "initrd of " + name;
    return is_whole ? name : "broken";
  }
  // Firmware starts nothing that was not signed, and what that is says which root it has.
  std::string BootSigned(const BootEntry& entry, const std::string& root) {
    const std::string kernel =
        TextOf(absl::StrCat(Esp(), "/muster/", std::string(1, entry.slot), "/signed.efi"));
    absl::string_view name = kernel;
    return absl::ConsumePrefix(&name, "signed for ") &&
                   absl::StartsWith(root, absl::StrCat("root of ", name)) &&
                   TextOf(Esp() + "/EFI/BOOT/BOOTX64.EFI") == "signed loader"
               ? std::string(name)
               : "broken";
  }
  // The entry that was tried has come up.
  void Bless() {
    sys::RealFileSystem real;
    const std::vector<BootEntry> entries = ReadEntries(Esp(), real).value();
    for (const BootEntry& each : entries)
      EXPECT_OK(RenameEntry(Esp(), each.slot, BootEntryName(each.slot, std::nullopt), real));
  }
  std::string Esp() {
    if (!tools.table.has_value() || tools.table->Find(kEspPartition) == nullptr) return "";
    const std::string content = tools.Content(tools.table->Find(kEspPartition)->device);
    return std::filesystem::exists(content) ? content : "";
  }
  std::string State() { return tools.Content(tools.table->Find(kStatePartition)->device); }

  Acts acts;
  std::vector<std::string> said;
  MemoryFolder folder_;
  muster::testing::FakeDiskTools tools{folder_.path() + "/disk", acts};
  CountedFiles files{acts};
};

TEST(InstallerTest, AnEmptyDiskBecomesBootable) {
  Machine machine;
  const auto installed = machine.Install(machine.Image("one"));
  ASSERT_OK(installed);
  EXPECT_EQ(installed->slot, 'a');
  EXPECT_TRUE(installed->was_divided);
  EXPECT_EQ(machine.Boot(), "one");
  EXPECT_FALSE(machine.tools.IsMounted());
  EXPECT_NE(machine.tools.table->id, kUnfinishedTable);
  const std::string entry = TextOf(machine.Esp() + "/loader/entries/muster-a+3.conf");
  for (const char* word : {"boot=muster panic=30 ", "console=ttyS0 ", "muster.slot=a ",
                           "muster.image=one@1a2b3c4d5e6f ", "muster.state=/dev/disk/by-partuuid/",
                           "muster.report=http://10.0.0.1:7483/report/x",
                           "muster.join=c001,login1:7444,login1:7443,sha256:ab"})
    EXPECT_THAT(entry, HasSubstr(word));
}

TEST(InstallerTest, AnUpdateWritesTheOtherRootAndKeepsTheState) {
  Machine machine;
  ASSERT_OK(machine.Install(machine.Image("one")));
  machine.Bless();
  Put(machine.State() + "/muster/node.uuid", "the node");
  Put(machine.State() + "/root-a/upper/etc/machine-id", "an id");
  Put(machine.State() + "/root-a/upper/etc/ssh/ssh_host_ed25519_key", "a key");
  Put(machine.State() + "/root-a/upper/etc/ssh/sshd_config", "of a role");
  const auto installed = machine.Install(machine.Image("two"));
  ASSERT_OK(installed);
  EXPECT_EQ(installed->slot, 'b');
  EXPECT_FALSE(installed->was_divided);
  EXPECT_EQ(machine.tools.divided, 1);
  EXPECT_EQ(machine.Boot(), "two");
  EXPECT_EQ(TextOf(machine.State() + "/muster/node.uuid"), "the node");
  EXPECT_EQ(TextOf(machine.State() + "/root-b/upper/etc/machine-id"), "an id");
  EXPECT_EQ(TextOf(machine.State() + "/root-b/upper/etc/ssh/ssh_host_ed25519_key"), "a key");
  EXPECT_FALSE(std::filesystem::exists(machine.State() + "/root-b/upper/etc/ssh/sshd_config"));
  // The third one takes the place of the first, whose changes are nobody's any more.
  machine.Bless();
  ASSERT_OK(machine.Install(machine.Image("three")));
  EXPECT_EQ(machine.Boot(), "three");
  EXPECT_FALSE(std::filesystem::exists(machine.State() + "/root-a/upper/etc/ssh/sshd_config"));
  EXPECT_TRUE(std::filesystem::exists(machine.Esp() + "/loader/entries/muster-b.conf"));
}

TEST(InstallerTest, AStateThatACrashHasDamagedIsMended) {
  Machine machine;
  ASSERT_OK(machine.Install(machine.Image("one")));
  machine.Bless();
  machine.tools.faulty = {machine.tools.table->Find(kStatePartition)->device};
  ASSERT_OK(machine.Install(machine.Image("two")));
  EXPECT_EQ(machine.Boot(), "two");
  // Where that is not possible, it is said, and the image is written all the same.
  machine.Bless();
  machine.tools.mend_fails = absl::InternalError("e2fsck failed with exit status 4");
  machine.said.clear();
  ASSERT_OK(machine.Install(machine.Image("three")));
  EXPECT_THAT(machine.said, Contains(machine.tools.mend_fails.message()));
  EXPECT_EQ(machine.Boot(), "three");
}

TEST(InstallerTest, FirmwareStartsWhatWasSigned) {
  Machine machine;
  ASSERT_OK(machine.Install(machine.Image("one")));
  machine.Bless();
  const auto installed = machine.Install(machine.Signed("two"));
  ASSERT_OK(installed);
  EXPECT_EQ(machine.Boot(), "two");
  EXPECT_EQ(TextOf(machine.State() + "/root-b/words"), "muster.node=c001\n");
  const std::string entry = TextOf(machine.Esp() + "/loader/entries/muster-b+3.conf");
  EXPECT_THAT(entry, HasSubstr("\nefi /muster/b/signed.efi\n"));
  EXPECT_THAT(entry, HasSubstr("muster.report=http://10.0.0.1:7483/report/x"));
  for (const char* word : {"options", "muster.slot", "muster.join"})
    EXPECT_THAT(entry, Not(HasSubstr(word)));
  // What was there of an image that was not signed makes room.
  machine.Bless();
  ASSERT_OK(machine.Install(machine.Signed("three")));
  EXPECT_EQ(machine.Boot(), "three");
  EXPECT_FALSE(std::filesystem::exists(machine.Esp() + "/muster/a/kernel"));
  machine.Bless();
  ASSERT_OK(machine.Install(machine.Image("four")));
  EXPECT_EQ(machine.Boot(), "four");
  EXPECT_FALSE(std::filesystem::exists(machine.State() + "/root-b/words"));
}

TEST(InstallerTest, DeathAtAnyActOnAnEmptyDiskIsBegunAnew) {
  int deaths = 0;
  for (int act = 1; act < 200; ++act) {
    SCOPED_TRACE(absl::StrCat("act ", act));
    Machine machine;
    const InstallOrder order = machine.Image("one");
    machine.acts.die_at = act;
    try {
      ASSERT_OK(machine.Install(order));
      break;
    } catch (const Death&) {
      ++deaths;
    }
    machine.tools.Reboot();
    EXPECT_THAT((std::vector<std::string>{"", "one"}), Contains(machine.Boot()));
    ASSERT_OK(machine.Install(order));
    EXPECT_EQ(machine.Boot(), "one");
  }
  EXPECT_GE(deaths, 30);
}

void DieAtAnyActOfAnUpdate(
    const std::function<InstallOrder(Machine& machine, const std::string& name)>& order_of) {
  int deaths = 0;
  for (int act = 1; act < 200; ++act) {
    SCOPED_TRACE(absl::StrCat("act ", act));
    Machine machine;
    ASSERT_OK(machine.Install(order_of(machine, "one")));
    machine.Bless();
    Put(machine.State() + "/muster/node.uuid", "the node");
    const InstallOrder order = order_of(machine, "two");
    machine.acts.count = 0;
    machine.acts.die_at = act;
    try {
      ASSERT_OK(machine.Install(order));
      break;
    } catch (const Death&) {
      ++deaths;
    }
    machine.tools.Reboot();
    EXPECT_THAT((std::vector<std::string>{"one", "two"}), Contains(machine.Boot()));
    ASSERT_OK(machine.Install(order));
    EXPECT_EQ(machine.Boot(), "two");
    EXPECT_EQ(machine.tools.divided, 1);
    EXPECT_EQ(TextOf(machine.State() + "/muster/node.uuid"), "the node");
  }
  EXPECT_GE(deaths, 20);
}

TEST(InstallerTest, DeathAtAnyActOfAnUpdateLeavesTheRootBeforeIt) {
  DieAtAnyActOfAnUpdate(
      [](Machine& machine, const std::string& name) { return machine.Image(name); });
}

TEST(InstallerTest, DeathAtAnyActOfASignedUpdateLeavesTheRootBeforeIt) {
  DieAtAnyActOfAnUpdate(
      [](Machine& machine, const std::string& name) { return machine.Signed(name); });
}

TEST(InstallerTest, ADiskThatHoldsDataIsNotTouched) {
  Machine machine;
  machine.tools.devices.disks[machine.tools.Disk()].signatures = {
      {"filesystem", "xfs", "1b2c", "data"}};
  InstallOrder order = machine.Image("one");
  EXPECT_THAT(machine.Install(order), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(machine.tools.divided, 0);
  // Until the inventory names it.
  order.device = "serial:S1";
  EXPECT_OK(machine.Install(order));
  EXPECT_EQ(machine.Boot(), "one");
}

TEST(InstallerTest, ARootWithAnotherDigestNeverBoots) {
  Machine machine;
  ASSERT_OK(machine.Install(machine.Image("one")));
  machine.Bless();
  const InstallOrder order = machine.Image("two");
  Put(order.root_file, "root of twO");
  EXPECT_THAT(machine.Install(order), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_EQ(machine.Boot(), "one");
  EXPECT_FALSE(machine.tools.IsMounted());
}

TEST(InstallerTest, ARootThatIsLargerThanItsPartitionIsRefusedBeforeAnythingIsLost) {
  Machine machine;
  ASSERT_OK(machine.Install(machine.Image("one")));
  machine.Bless();
  const InstallOrder order = machine.Image("two");
  std::filesystem::resize_file(order.root_file, 65 << 20);
  EXPECT_THAT(machine.Install(order), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(machine.Boot(), "one");
}

TEST(InstallerTest, AnImageInMemoryIsNotWritten) {
  Machine machine;
  const InstallOrder order = machine.Image("one");
  Put(machine.tools.images[order.root_file] + kImageInRoot, "");
  EXPECT_THAT(machine.Install(order), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_EQ(machine.tools.divided, 0);
}

TEST(InstallerTest, ADiskThatIsTooSmallIsRefused) {
  Machine machine;
  machine.tools.disk_bytes = uint64_t{256} << 20;
  EXPECT_THAT(machine.Install(machine.Image("one")),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(machine.tools.divided, 0);
}

}  // namespace
}  // namespace muster::agent::disk
