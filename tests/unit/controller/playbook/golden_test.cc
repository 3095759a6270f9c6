// A whole role set, compiled, compared with the plan that was last reviewed. MUSTER_UPDATE_GOLDEN=1
// rewrites the plan.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

constexpr char kSite[] = "tests/testdata/playbook/cluster";
constexpr char kGolden[] = "tests/testdata/playbook/cluster.c001.txtpb";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

TEST_F(CompileTest, AClusterGivesTheGoldenPlan) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSite)) {
    if (!entry.is_regular_file()) continue;
    site["playbooks/" + std::filesystem::relative(entry.path(), kSite).string()] =
        ReadFile(entry.path());
  }
  for (const char* name : {"c001", "c002"}) {
    facts[name] = {{"cpus", 64}, {"memory_mib", 257000}, {"os", {{"id", "debian"}}}};
  }
  facts.erase("c003");
  std::string text;
  google::protobuf::TextFormat::PrintToString(Compile(), &text);
  if (std::getenv("MUSTER_UPDATE_GOLDEN") != nullptr) std::ofstream(kGolden) << text;
  EXPECT_EQ(text, ReadFile(kGolden));
}

}  // namespace
}  // namespace muster::controller
