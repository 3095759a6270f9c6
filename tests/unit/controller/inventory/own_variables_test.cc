#include "controller/inventory/own_variables.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

bool IsOwn(const std::string& name) {
  return std::find(OwnVariables().begin(), OwnVariables().end(), name) != OwnVariables().end();
}

// What the code reads is in the table: a name that is missing there would pass for a misspelling of
// its neighbor.
TEST(OwnVariables, AreAllThatTheControllerReads) {
  std::string names = "(?:";
  for (const char* reader : {
           R"(reader\.[A-Z][A-Za-z]+\(\s*)",       // hardware_class.cc
           R"(variable\.name == )",                // reboot_room.cc, power_targets.cc
           R"(Find\([A-Za-z()]+, )",               // slurmctld_node.cc
           R"(constexpr char k[A-Za-z]+\[\] = )",  // boot_choice.cc, self_join.cc
           R"(\{)",                                // bmc_access.cc
       })
    absl::StrAppend(&names, names == "(?:" ? "" : "|", reader);
  const RE2 pattern(names + R"re()"([a-z]+(?:_[a-z0-9]+)*)")re");
  ASSERT_TRUE(pattern.ok()) << pattern.error();
  size_t found = 0;
  for (const char* path :
       {"controller/validation/verdict/hardware_class.cc", "controller/run/plan/reboot_room.cc",
        "controller/power/power_targets.cc", "controller/slurm/slurmctld_node.cc",
        "controller/inventory/boot_choice.cc", "controller/inventory/self_join.cc",
        "controller/inventory/bmc_access.cc"}) {
    std::ifstream in(path);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    re2::StringPiece rest(text);
    for (std::string name; RE2::FindAndConsume(&rest, pattern, &name);) {
      // Words of values: boot: disk, bmc_protocol: ipmi, boot_join: tpm.
      if (!absl::StrContains(name, "_") && name != "boot") continue;
      EXPECT_TRUE(IsOwn(name)) << path << " reads " << name;
      ++found;
    }
  }
  EXPECT_GE(found, OwnVariables().size() - 1) << "all but stack";
}

TEST(OwnVariables, NamesOfVariablesAreNearOnlyByAMistakeOrTwo) {
  EXPECT_EQ(NearestVariable("reboot_gpa", OwnVariables()), "reboot_gap");
  EXPECT_EQ(NearestVariable("infiniband_prots", OwnVariables()), "infiniband_ports");
  EXPECT_EQ(NearestVariable("node_power_wats", OwnVariables()), "node_power_watts");
  // Two mistakes: only in a long name.
  EXPECT_EQ(NearestVariable("boot_trustd_netwroks", OwnVariables()), "boot_trusted_networks");
  EXPECT_EQ(NearestVariable("rebot_gpa", OwnVariables()), "");
  // Short words are like too many others.
  EXPECT_EQ(NearestVariable("stock", OwnVariables()), "");
  EXPECT_EQ(NearestVariable("disk_path", OwnVariables()), "disk_paths");
}

}  // namespace
}  // namespace muster::controller
