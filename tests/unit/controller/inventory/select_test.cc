#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Inventory Cluster() {
  return ParseInventory({{"f",
                          "cluster: x\n"
                          "racks: {r1: {nodes: \"c[1-2]\"}}\n"
                          "groups: {gpu: {nodes: \"c[2-4]\"}, empty: {}}\n"
                          "nodes:\n"
                          "  login1: {role: login}\n"
                          "  \"c[1-4]\": {role: compute}\n"}})
      .value();
}

struct SelectCase {
  const char* pattern;
  const char* nodes;
};

TEST(Select, NamesNodes) {
  const Inventory inventory = Cluster();
  const SelectCase cases[] = {
      {"c1", "c1"},
      {"c[1,3],login1", "login1 c1 c3"},
      {"gpu", "c2 c3 c4"},
      {"all", "login1 c1 c2 c3 c4"},
      {"compute,!c2", "c1 c3 c4"},
      {"!c2,compute", "c1 c3 c4"},
      {"!gpu", "login1 c1"},
      {"c*", "c1 c2 c3 c4"},
      {"*1", "login1 c1"},
      {"c?,!c[3-4]", "c1 c2"},
      {"rack:r1", "c1 c2"},
      {"rack:r1 , gpu", "c1 c2 c3 c4"},
      {"empty", ""},
      {"storage", ""},
      {"c1,!c1", ""},
  };
  for (const SelectCase& c : cases) {
    SCOPED_TRACE(c.pattern);
    const auto nodes = Select(inventory, c.pattern);
    ASSERT_OK(nodes);
    EXPECT_EQ(absl::StrJoin(*nodes, " ",
                            [](std::string* out, const Node* node) { out->append(node->name); }),
              c.nodes);
  }
}

TEST(Select, SaysWhatIsWrong) {
  const Inventory inventory = Cluster();
  const SelectCase cases[] = {
      {"", "column 1: a node or group is missing"},
      {"c1,,c2", "column 4: a node or group is missing"},
      {"c1,!", "column 5: a node or group is missing"},
      {"gpus", "unknown node or group 'gpus' (did you mean 'gpu'?)"},
      {"c[3-6]", "unknown node or group 'c[5-6]' (did you mean 'c1'?)"},
      {"rack:r7", "unknown rack 'r7' (did you mean 'r1'?)"},
      {"x*", "no node matches 'x*'"},
      {"c1, c[2-", "column 9: expected the last number"},
      {"!c[2-1]", "column 4: range 2-1 runs backwards"},
  };
  for (const SelectCase& c : cases) {
    SCOPED_TRACE(c.pattern);
    EXPECT_THAT(Select(inventory, c.pattern),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.nodes))));
  }
}

// A person's pattern may have as many bytes as a message, and would hold a thread for minutes.
TEST(Select, RefusesWhatTakesLong) {
  const Inventory cluster =
      ParseInventory({{"f", "cluster: x\nnodes: {\"c[0001-4000]\": {role: compute}}\n"}}).value();
  const auto repeated = [](absl::string_view term, size_t count) {
    std::string pattern(term);
    for (size_t i = 1; i < count; ++i) absl::StrAppend(&pattern, ",", term);
    return pattern;
  };
  EXPECT_EQ(Select(cluster, repeated("c*", 900))->size(), 4000u);
  EXPECT_EQ(Select(cluster, repeated("c0001", 65'536))->size(), 1u);
  for (const std::string& pattern :
       {repeated("*", 1 << 20), repeated("c*", 1100), repeated("all", 1100),
        repeated("!c[0001-4000]", 1100), std::string(1 << 20, '*'), repeated("c0001", 65'537),
        std::string(1 << 24, ',')}) {
    SCOPED_TRACE(pattern.substr(0, 20));
    EXPECT_THAT(Select(cluster, pattern),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than")));
  }
}

}  // namespace
}  // namespace muster::controller
