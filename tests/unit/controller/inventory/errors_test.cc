#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kHead[] =
    "cluster: x\nnodes: {\"c[1-3]\": {role: compute}, login1: {role: login}}\n";

struct ErrorCase {
  const char* text;  // after kHead, so from line 3
  const char* error;
};

TEST(InventoryErrors, NamePlaceAndRemedy) {
  const ErrorCase cases[] = {
      {"rakcs: {}", "f:3:1: unknown key 'rakcs' in the inventory (did you mean 'racks'?)"},
      {"racks: []", "f:3:8: 'racks' must be a map of names, not a list"},
      {"racks: {r1: {power_limit_wats: 1}}", "f:3:14: unknown key 'power_limit_wats' in the rack"},
      {"racks: {r1: {power_limit_watts: 0}}", "f:3:33: a power limit must be more than 0 W"},
      {"racks: {r1: {power_limit_watts: 6kW}}", "f:3:33: expected a whole number, not '6kW'"},
      {"racks: {r1: {switch: s, uplink_gbits_per_s: 0}}",
       "f:3:45: an uplink must carry more than 0 Gbit/s"},
      {"racks: {r1: {uplink_gbits_per_s: 40}}",
       "f:3:34: an uplink needs the 'switch' that it belongs to"},
      {"racks:\n  r1: {switch: s, uplink_gbits_per_s: 40}\n"
       "  r2: {switch: s, uplink_gbits_per_s: 10}",
       "f:5:39: the uplink of switch s carries 40 Gbit/s by rack r1 (f:4"},
      {"racks: {r1: {nodes: c7}}", "f:3:21: unknown node c7 (did you mean 'c1'?)"},
      {"racks: {r1: {nodes: login}}", "f:3:21: 'login' is a group; write nodes here"},
      {"racks: {r1: {nodes: \"c[2-1]\"}}", "f:3:24: range 2-1 runs backwards"},
      {"racks:\n  r1: {nodes: c1}\n  r2: {nodes: c1}",
       "f:5:15: node c1 is in two racks: r2 and r1 (f:4)"},
      {"racks: {\"r 1\": {}}", "f:3:9: 'r 1' cannot be the name of a rack"},
      {"groups: {a: {groups: [b]}, b: {groups: [c]}, c: {groups: [a]}}",
       "f:3:59: groups nest in a cycle: a → b → c → a"},
      {"groups: {a: {groups: [a]}}", "groups nest in a cycle: a → a"},
      {"groups: {gpu: {}, a: {groups: [gpus]}}", "unknown group 'gpus' (did you mean 'gpu'?)"},
      {"groups: {a: {groups: [c1]}}", "'c1' is a node; write the name of a group"},
      {"groups: {a: {groups: [compute]}}", "group 'compute' is implicit"},
      {"groups: {compute: {nodes: c1}}", "f:3:10: 'compute' is implicit"},
      {"groups: {c1: {}}", "node c1 has the name of a group (f:3)"},
      {"groups: {a: {vars: {x-y: 1}}}", "'x-y' cannot be the name of a variable"},
      {"groups: {a: {vars: [1]}}", "variables must be a map of names, not a list"},
      {"groups:\n  a: {nodes: c1, vars: {v: 1}}\n  b: {nodes: c1, vars: {v: 2}}",
       "f:5:25: node c1 gets 'v' from two unrelated groups with different values: b and a (f:4)"},
      {"partitions: {p: {nodes: nobody}}", "f:3:25: unknown node or group 'nobody'"},
      {"partitions: {p: {nodes: \"c1,c[2-\"}}", "f:3:33: expected the last number"},
      {"partitions: {p: {}}", "f:3:14: partition p has no nodes"},
      {"partitions: {p: {nodes: all}}", "partition p contains node login1 of role login"},
      {"partitions: {p: {nodes: c1, state: up}}", "unknown partition state 'up'"},
      {"partitions: {p: {nodes: c1, max_time: 7d}}", "f:3:39: '7d' is not a time limit"},
      {"partitions: {p: {nodes: c1, default: yes}}", "expected a boolean, not 'yes': write true"},
      {"partitions:\n  p: {nodes: c1, default: true}\n  q: {nodes: c1, default: true}",
       "f:5:3: partition q and partition p (f:4) are both the default"},
      {"partitions: {default: {nodes: c1}}", "Slurm keeps it for itself"},
      {"domain: a..b", "f:3:9: 'a..b' is not a domain"},
  };
  for (const ErrorCase& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(ParseInventory({{"f", absl::StrCat(kHead, c.text, "\n")}}),
                StatusIs(kInvalid, AllOf(Said(), HasSubstr(c.error))));
  }
}

TEST(InventoryErrors, OfNodes) {
  const ErrorCase cases[] = {
      {"c1: {}", "f:3:7: the node lacks 'role'"},
      {"c1: {role: computer}", "f:3:14: unknown role 'computer' (did you mean 'compute'?)"},
      {"c1:", "f:3:3: expected a node (a map of keys), not nothing"},
      {"c1: {role: login, adress: a}",
       "f:3:21: unknown key 'adress' in the node (did you mean "
       "'address'?)"},
      {"\"c[1-\": {role: login}", "f:3:8: expected the last number"},
      {"C1: {role: login}", "f:3:3: 'C1' cannot be the name of a node"},
      {"login: {role: login}", "node login has the name of an implicit group"},
      {"c1: {role: login, rack: r9}", "f:3:27: unknown rack 'r9' (did you mean 'r1'?)"},
      {"c1: {role: login, groups: [g9]}", "f:3:30: unknown group 'g9'"},
      {"c1: {role: login, address: 10.0.0.300}", "f:3:30: '10.0.0.300' is not an IPv4 address"},
      {"c1: {role: login, mac: 12}", "'12' is not a MAC address"},
      {"\"c[1-2]\": {role: login, mac: \"00:00:00:00:00:01\"}", "one MAC address for 2 nodes"},
      {"\"c[1-3]\": {role: login, mac: [\"00:00:00:00:00:01\", \"00:00:00:00:00:02\"]}",
       "f:3:33: 2 MAC addresses for 3 nodes"},
      {"c1: {role: login, mac: [\"00:00:00:00:00:01\", x]}", "f:3:48: 'x' is not a MAC address"},
      {"c1: {role: login, mac: \"00:00:00:00:00:0a\"}\n  c2: {role: login, mac: "
       "\"00:00:00:00:00:0A\"}",
       "f:4:26: MAC address 00:00:00:00:00:0a of node c2 already belongs to c1 (f:3)"},
      {"c1: {role: login, vars: {boot: usb/1}}", "f:3:34: boot must be disk, rescue, or an image"},
      {"c1: {role: login, vars: {boot: worker@12}}", "boot must be disk, rescue, or an image"},
      {"c1: {role: login, vars: {boot: true}}", "boot must be disk, rescue, or an image"},
      {"c1: {role: login, vars: {boot_rescue_image: disk}}", "boot_rescue_image must be an image"},
      {"c1: {role: login, vars: {boot_unknown: finder}}", "machines that are not nodes"},
      {"c1: {role: login, vars: {boot_disk: /dev/sda}}", "boot_disk must be serial:"},
      {"c1: {role: login, vars: {boot_disk: blank}}", "boot_disk must be serial:"},
      {"c1: {role: login, vars: {boot_disk: [1]}}", "boot_disk must be serial:"},
      {"c1: {role: login, vars: {boot_signed: \"yes\"}}",
       "boot_signed must be true, false or enroll"},
      {"c1: {role: login, vars: {boot_peers: \"yes\"}}", "boot_peers must be true or false"},
      {"\"c[1-3]\": {role: login, address: \"10.0.0.[1-2]\"}", "2 addresses for 3 nodes"},
      {"c1: {role: login, address: a}\n  c2: {role: login, address: a}",
       "f:4:30: address a of node c2 already belongs to c1 (f:3)"},
      {"c1: {role: login, bmc_address: c1}", "address c1 of node c1 already belongs to c1"},
      {"c1: {role: login}\n  \"c[1-2]\": {role: login}", "f:4:3: duplicate node c1, first in f:3"},
      {"\"c[0-65535],x\": {role: login}", "more than 65536"},
      {"c1: {role: login, vars: {a: 1, a: 2}}", "f:3:34: duplicate key 'a'"},
  };
  for (const ErrorCase& c : cases) {
    SCOPED_TRACE(c.text);
    const std::string text = absl::StrCat("cluster: x\nnodes:\n  ", c.text, "\nracks: {r1: {}}\n");
    EXPECT_THAT(ParseInventory({{"f", text}}),
                StatusIs(kInvalid, AllOf(Said(), HasSubstr(c.error))));
  }
}

TEST(InventoryErrors, BetweenFiles) {
  EXPECT_THAT(ParseInventory({}), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "nodes: {}"}}), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x"}, {"b", "cluster: x"}}),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x\nracks: {r1: {}}"}, {"b", "racks: {r1: {}}"}}),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x\ngroups: {g: {}}"}, {"b", "groups: {g: {}}"}}),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x\nvars: {v: 1}"}, {"b", "vars: {v: 1}"}}),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x\ngroups: {g: {vars: {v: 1}}}"},
                              {"group_vars/g.yaml", "v: 2"}}),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(ParseInventory({{"a", "cluster: x\ngroups: {gpu: {}}"}, {"i/group_vars/gp.yml", ""}}),
              StatusIs(kInvalid, Said()));
}

TEST(InventoryErrors, AllAreReportedAtOnceWithTheirLines) {
  const absl::Status status =
      ParseInventory({{"f", "nodes:\n  c1: {role: compte}\n  c2: {role: login, rack: r1}\n"},
                      {"g", "partitions: {p: {nodes: c1, stat: UP}}\n"}})
          .status();
  EXPECT_THAT(status, StatusIs(kInvalid, Said()));
}

TEST(InventoryErrors, AreCutOffAfterTwenty) {
  std::string text = "cluster: x\nnodes:\n";
  for (int i = 0; i < 30; ++i) absl::StrAppend(&text, "  c", i, ": {role: x}\n");
  const absl::Status status = ParseInventory({{"f", text}}).status();
  EXPECT_THAT(status, StatusIs(kInvalid, AllOf(Said(), Not(HasSubstr("f:23:")))));
}

}  // namespace
}  // namespace muster::controller
