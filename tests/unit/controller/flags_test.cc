#include "controller/flags.h"
#include "tests/fixtures/golden_texts.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

absl::StatusOr<Flags> Parse(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return ParseFlags(pointers);
}

TEST(Flags, KnowsItsOwn) {
  EXPECT_EQ(Parse({}).value().config, "/etc/muster/controller.yaml");
  EXPECT_EQ(Parse({"--config", "/x"}).value().config, "/x");
  EXPECT_EQ(Parse({"--config=/y"}).value().config, "/y");
  EXPECT_TRUE(Parse({"--help"}).value().show_help);
  EXPECT_TRUE(Parse({"--version"}).value().show_version);
}

TEST(Flags, RefusesOthers) {
  EXPECT_THAT(Parse({"--confg"}), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(Parse({"--config"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::controller
