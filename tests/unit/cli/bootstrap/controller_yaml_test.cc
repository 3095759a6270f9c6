#include "cli/bootstrap/controller_yaml.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

std::vector<int> PortsOf(const std::string& text) {
  std::vector<int> ports;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    int port = 0;
    if (absl::StrContains(line.substr(0, line.find(':')), "listen") &&
        absl::SimpleAtoi(line.substr(line.find_last_of(':') + 1), &port))
      ports.push_back(port);
  }
  // Off at first: a comment proposes it.
  if (absl::StrContains(text, "10.0.0.1:7483")) ports.push_back(7483);
  return ports;
}

TEST(ControllerYaml, EveryListenerHasAPortOfItsOwn) {
  for (int port = 7400; port < 7500; ++port) {
    const std::vector<int> ports = PortsOf(ControllerYaml("x", "login1", port, "/etc/muster"));
    ASSERT_EQ(ports.size(), 6u);
    const bool differ = std::set<int>(ports.begin(), ports.end()).size() == ports.size();
    EXPECT_EQ(CheckControllerPort(port).ok(), differ) << port;
  }
  EXPECT_THAT(CheckControllerPort(7479), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::cli
