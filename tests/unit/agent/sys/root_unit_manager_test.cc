#include "agent/sys/root_unit_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RootUnitManagerTest : public ::testing::Test {
 protected:
  // What systemctl prints on both outputs.
  void IsEnabledSays(const std::string& out, const std::string& error, int exit_code) {
    processes_.On("systemctl is-enabled",
                  sys::ProcessResult{.exit_code = exit_code, .out = out, .output = error + out});
  }

  FakeProcessRunner processes_;
  RootUnitManager units_{processes_};
};

TEST_F(RootUnitManagerTest, KnowsAUnitByItsFileAlone) {
  const struct {
    const char* out;
    const char* error;
    int exit_code;
    const char* load_state;
    const char* unit_file_state;
  } kRows[] = {
      {"enabled\n", "", 0, "loaded", "enabled"},
      {"enabled\n", "a.service is not a native service, redirecting to systemd-sysv-install.\n", 0,
       "loaded", "enabled"},
      {"disabled\n", "", 1, "loaded", "disabled"},
      {"static\n", "", 0, "loaded", "static"},
      {"alias\n", "", 0, "loaded", "alias"},
      {"masked\n", "", 1, "masked", "masked"},
      {"bad\n", "", 1, "bad-setting", "bad"},
      {"not-found\n", "", 4, "not-found", ""},
      {"", "Failed to get unit file state for a.service: No such file or directory\n", 1,
       "not-found", ""},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.out);
    IsEnabledSays(row.out, row.error, row.exit_code);
    const absl::StatusOr<UnitStatus> status = units_.GetStatus("a.service");
    ASSERT_OK(status);
    EXPECT_EQ(status->load_state, row.load_state);
    EXPECT_EQ(status->unit_file_state, row.unit_file_state);
    EXPECT_EQ(status->active_state, "inactive");
    EXPECT_FALSE(status->need_daemon_reload);
  }
  EXPECT_EQ(processes_.commands().front(), "systemctl is-enabled -- a.service");
  EXPECT_EQ(processes_.specs().front().environment.at("SYSTEMD_OFFLINE"), "1");
}

TEST_F(RootUnitManagerTest, AnAnswerThatItDoesNotUnderstandIsAnError) {
  IsEnabledSays("", "Failed to get unit file state for a.service: Input/output error\n", 1);
  EXPECT_THAT(units_.GetStatus("a.service"), StatusIs(absl::StatusCode::kInternal, Said()));
  processes_.RemovePrograms();
  EXPECT_THAT(units_.GetStatus("a.service"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(RootUnitManagerTest, ChangesFilesAndStartsNothing) {
  processes_.On("systemctl", FakeProcessRunner::Prints(""));
  EXPECT_OK(units_.SetEnabled("a.service", true));
  EXPECT_OK(units_.SetEnabled("a.service", false));
  EXPECT_OK(units_.SetMasked("-.mount", true));
  EXPECT_OK(units_.SetMasked("a.service", false));
  for (const UnitJob job :
       {UnitJob::kStart, UnitJob::kStop, UnitJob::kRestart, UnitJob::kReloadOrRestart})
    EXPECT_OK(units_.Run(job, "a.service"));
  EXPECT_OK(units_.DaemonReload());
  EXPECT_THAT(units_.ListFailed().value(), IsEmpty());
  EXPECT_THAT(processes_.commands(),
              ElementsAre("systemctl enable -- a.service", "systemctl disable -- a.service",
                          "systemctl mask -- -.mount", "systemctl unmask -- a.service"));
  EXPECT_THAT(units_.StartReboot(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  processes_.On("systemctl enable", FakeProcessRunner::Prints("no such unit", 1));
  EXPECT_THAT(units_.SetEnabled("a.service", true), StatusIs(absl::StatusCode::kInternal, Said()));
}

}  // namespace
}  // namespace muster::agent
