// A controller that is older than the command line: what it does not know is left out where that is
// not what was asked for, and named with the remedy where it is.
#include <CLI/CLI.hpp>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fed_controller.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

class OlderControllerTest : public ::testing::Test {
 protected:
  // What the verb that `add` adds prints, errors included; its exit code is in exit_code_.
  std::string Muster(void (*add)(CLI::App&, Context&), const std::string& words) {
    CLI::App app("", "muster");
    Context context;
    context.clock = &clock_;
    context.config_directory = controller_.config_directory();
    add(app, context);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    app.parse(words);
    exit_code_ = context.exit_code;
    return absl::StrCat(::testing::internal::GetCapturedStdout(),
                        ::testing::internal::GetCapturedStderr());
  }

  muster::testing::TempDir dir_;
  muster::testing::FakeClock clock_{absl::Now()};
  muster::testing::FedController controller_{dir_.path()};
  int exit_code_ = -1;
};

TEST_F(OlderControllerTest, StatusShowsWhatItKnows) {
  controller_.status.set_cluster("alpha");
  const std::string said = Muster(&AddStatus, "status");
  EXPECT_EQ(exit_code_, kExitClean) << said;
  EXPECT_THAT(said, HasSubstr("alpha"));
}

TEST_F(OlderControllerTest, AVerbThatItDoesNotKnowNamesTheRemedy) {
  const std::string said = Muster(&AddDrift, "drift");
  EXPECT_EQ(exit_code_, kExitError);
  EXPECT_THAT(said, HasSubstr("`muster controller update`"));
}

}  // namespace
}  // namespace muster::cli
