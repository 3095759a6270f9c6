#include "cli/image/build_tools.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SubordinateIds, AreThePersonsAndEnough) {
  const std::string text = "ann:100000:65536\nbob:165536:1000\n1003:300000:65536\nbroken\n";
  EXPECT_TRUE(HasSubordinateIds(text, "ann", 1001));
  EXPECT_FALSE(HasSubordinateIds(text, "bob", 1002));
  EXPECT_TRUE(HasSubordinateIds(text, "eve", 1003));
  EXPECT_FALSE(HasSubordinateIds(text, "dan", 1004));
  EXPECT_FALSE(HasSubordinateIds("", "ann", 1001));
}

// Ubuntu 24.04 takes the rights away, and 22.04 knows no --map-auto.
TEST(Namespaces, AreTriedBeforeAnythingIsFetched) {
  testing::FakeProcessRunner runner;
  runner.On("unshare --user", testing::FakeProcessRunner::Prints(""));
  EXPECT_OK(CheckNamespaces(runner));
  EXPECT_THAT(runner.commands(),
              ElementsAre("unshare --user --map-root-user --map-auto --mount true"));
  runner.On("unshare --user", testing::FakeProcessRunner::Prints(
                                  "unshare: unshare failed: Operation not permitted\n", 1));
  EXPECT_THAT(CheckNamespaces(runner),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("Operation not permitted"),
                             HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"))));
}

}  // namespace
}  // namespace muster::cli
