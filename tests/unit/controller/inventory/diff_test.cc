#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kBefore[] =
    "cluster: x\n"
    "racks: {r1: {}, r2: {power_limit_watts: 5000}}\n"
    "groups: {gpu: {nodes: \"c[1-3]\", vars: {driver: 535}}}\n"
    "nodes:\n"
    "  login1: {role: login}\n"
    "  \"c[1-3]\": {role: compute, rack: r1}\n"
    "partitions: {gpu: {nodes: gpu}}\n"
    "vars: {proxy: a, gone: 1}\n";
constexpr char kNow[] =
    "cluster: x\n"
    "domain: x.example\n"
    "racks: {r1: {}, r2: {power_limit_watts: 6000}}\n"
    "groups: {gpu: {nodes: \"c[2-5]\", vars: {driver: 550}}, new: {}}\n"
    "nodes:\n"
    "  login1: {role: login, vars: {a: 1}}\n"
    "  \"c[2-5]\": {role: compute, rack: r2}\n"
    "partitions: {gpu: {nodes: gpu, state: DOWN}}\n"
    "vars: {proxy: b, come: [1]}\n";

TEST(DiffInventory, SaysWhatChanged) {
  const Inventory before = ParseInventory({{"f", kBefore}}).value();
  const Inventory now = ParseInventory({{"f", kNow}}).value();
  EXPECT_THAT(
      DiffInventory(before, now),
      ElementsAre("~ domain: (none) -> x.example", "+ nodes c[4-5]: compute", "- node c1: compute",
                  "~ nodes c[2-3]: rack r1 -> r2", "~ node login1: var a (none) -> 1",
                  "~ rack r1: nodes c[1-3] -> (none)",
                  "~ rack r2: nodes (none) -> c[2-5], power_limit_watts 5000 -> 6000",
                  "~ group gpu: nodes c[1-3] -> c[2-5], var driver 535 -> 550", "+ group new",
                  "~ partition gpu: nodes c[1-3] -> c[2-5], state UP -> DOWN", "+ var come = [1]",
                  "- var gone", "~ var proxy: \"a\" -> \"b\""));
}

TEST(DiffInventory, WhatIsNewIsShownWithItsVariables) {
  const Inventory before =
      ParseInventory({{"f", "cluster: x\nnodes: {\"c[1-3]\": {role: compute}}\n"}}).value();
  const Inventory now =
      ParseInventory({{"f",
                       "cluster: x\n"
                       "racks: {r1: {power_limit_watts: 5000, nodes: c1}}\n"
                       "groups: {gpu: {nodes: \"c[1-2]\", vars: {driver: 550, b: [1]}}}\n"
                       "nodes:\n"
                       "  \"c[1-3]\": {role: compute}\n"
                       "  c4: {role: compute, vars: {note: spare}}\n"
                       "  c5: {role: compute}\n"
                       "partitions: {p: {nodes: c1, default: true}}\n"}})
          .value();
  EXPECT_THAT(DiffInventory(before, now),
              ElementsAre("+ node c5: compute", "+ node c4: compute, var note = \"spare\"",
                          "~ node c2: groups [\"all\",\"compute\"] -> "
                          "[\"all\",\"compute\",\"gpu\"]",
                          "~ node c1: groups [\"all\",\"compute\"] -> "
                          "[\"all\",\"compute\",\"gpu\"], rack (none) -> r1",
                          "+ rack r1: nodes c1, power_limit_watts 5000",
                          "+ group gpu: nodes c[1-2], var b = [1], var driver = 550",
                          "+ partition p: default true, nodes c1, state UP"));
}

TEST(DiffInventory, AnotherOrderIsNoChange) {
  const Inventory before = ParseInventory({{"f", kBefore}}).value();
  EXPECT_THAT(DiffInventory(before, before), IsEmpty());
  const Inventory a =
      ParseInventory({{"f",
                       "cluster: x\nvars: {a: 1, b: 2}\nnodes: {c1: {role: login, vars: {a: "
                       "1, b: 2}}}\n"}})
          .value();
  const Inventory b =
      ParseInventory({{"g",
                       "nodes: {c1: {vars: {b: 2, a: 1}, role: login}}\nvars: {b: 2, a: "
                       "1}\ncluster: x\n"}})
          .value();
  EXPECT_THAT(DiffInventory(a, b), IsEmpty());
}

TEST(ToValue, ShowsTheResolvedInventory) {
  const Inventory inventory = ParseInventory({{"f", kBefore}}).value();
  const nlohmann::ordered_json value = ToValue(inventory);
  EXPECT_EQ(value["nodes"]["c1"].dump(),
            R"({"role":"compute","address":"c1","rack":"r1","groups":["all","compute","gpu"]})");
  EXPECT_EQ(value["racks"].dump(),
            R"({"r1":{"nodes":"c[1-3]"},"r2":{"power_limit_watts":5000,"nodes":""}})");
  EXPECT_EQ(value["groups"].dump(), R"({"gpu":{"nodes":"c[1-3]","vars":{"driver":535}}})");
  EXPECT_EQ(value["partitions"].dump(),
            R"({"gpu":{"nodes":"c[1-3]","default":false,"state":"UP"}})");
  EXPECT_EQ(value["vars"].dump(), R"({"proxy":"a","gone":1})");
}

}  // namespace
}  // namespace muster::controller
