// The example of docs/inventory.md is an inventory, and shows every key.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

TEST(InventoryDocumentationTest, TheExampleIsAnInventory) {
  std::ifstream in("docs/inventory.md");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string fence = "```yaml\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::string example =
      page.substr(begin + fence.size(), page.find("```", begin + 3) - begin - fence.size());

  const auto inventory = ParseInventory({{"cluster.yaml", example}});
  ASSERT_OK(inventory);
  EXPECT_GT(inventory->nodes().size(), 1u);
  // The keys that the page's tables and paragraphs name.
  for (const char* key : {"cluster",
                          "domain",
                          "nodes",
                          "racks",
                          "groups",
                          "partitions",
                          "vars",
                          "role",
                          "address",
                          "bmc_address",
                          "mac",
                          "rack",
                          "power_limit_watts",
                          "switch",
                          "uplink_gbits_per_s",
                          "default",
                          "max_time",
                          "state",
                          "updates",
                          "drift",
                          "every",
                          "repair",
                          "playbook",
                          "window",
                          "notifications",
                          "type",
                          "url",
                          "severity",
                          "health",
                          "conditions",
                          "breaker",
                          "retest",
                          "snapshots",
                          "uris",
                          "suites",
                          "components",
                          "architectures",
                          "signed_by"}) {
    EXPECT_THAT(example, ::testing::ContainsRegex(absl::StrCat("(^|[^a-z_])", key, ":"))) << key;
    EXPECT_THAT(page.substr(page.find("```", begin + 3)), ::testing::HasSubstr(key)) << key;
  }
}

}  // namespace
}  // namespace muster::controller
