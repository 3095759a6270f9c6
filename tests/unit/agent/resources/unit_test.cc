#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnitTest : public ResourceTest {
 protected:
  UnitStatus& Status(const std::string& name) { return node_.units.units[name].status; }
};

TEST_F(UnitTest, ChecksThenConverges) {
  Status("run.service").active_state = "active";
  Status("run.service").unit_file_state = "enabled";
  Status("new.service");
  Status("failed.service").active_state = "failed";
  ExpectInSync(R"(unit { name: "run.service" enabled: true state: UNIT_STATE_STARTED })");
  ExpectInSync(R"(unit { name: "failed.service" state: UNIT_STATE_STOPPED })");
  ExpectInSync(R"(unit { name: "never.service" state: UNIT_STATE_STOPPED enabled: false })");
  ExpectConverges(R"(unit { name: "new.service" enabled: true state: UNIT_STATE_STARTED })",
                  {"enabled", "state"});
  ExpectConverges(R"(unit { name: "run.service" enabled: false state: UNIT_STATE_STOPPED })",
                  {"enabled", "state"});
  ExpectConverges(R"(unit { name: "failed.service" state: UNIT_STATE_STARTED })", {"state"});
  ExpectConverges(R"(unit { name: "new.service" masked: true state: UNIT_STATE_STOPPED })",
                  {"masked", "state"});
  ExpectConverges(R"(unit { name: "new.service" masked: false enabled: true
                            state: UNIT_STATE_STARTED })",
                  {"masked", "enabled", "state"});
}

TEST_F(UnitTest, KnowsWhichStatesOfItsFileMeanThatItStartsAtBoot) {
  const struct {
    const char* state;
    bool is_enabled, is_disabled;  // as the playbook means them
  } kRows[] = {
      {"enabled", true, false}, {"disabled", false, true},  {"enabled-runtime", false, false},
      {"alias", true, false},   {"indirect", false, false}, {"generated", true, true},
      {"linked", false, true},  {"static", false, true},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.state);
    Status("a.service").unit_file_state = row.state;
    if (row.is_enabled) {
      ExpectInSync(R"(unit { name: "a.service" enabled: true })");
    } else if (std::string(row.state) != "static") {
      ExpectConverges(R"(unit { name: "a.service" enabled: true })", {"enabled"});
    }
    Status("a.service").unit_file_state = row.state;
    if (row.is_disabled) {
      ExpectInSync(R"(unit { name: "a.service" enabled: false })");
    } else {
      ExpectConverges(R"(unit { name: "a.service" enabled: false })", {"enabled"});
    }
  }
}

// systemd calls its unit "generated" in either case and refuses to change its links.
TEST_F(UnitTest, AnInitScriptIsEnabledAndDisabledBySystemctl) {
  Status("old.service").unit_file_state = "generated";
  std::string state = "enabled";
  node_.processes.On("systemctl is-enabled -- old.service", [&](const sys::ProcessSpec&) {
    return testing::FakeProcessRunner::Prints(state + "\n", state == "enabled" ? 0 : 1);
  });
  for (const char* verb : {"enable", "disable"})
    node_.processes.On(absl::StrCat("systemctl ", verb, " -- old.service"),
                       [&state, verb](const sys::ProcessSpec&) {
                         state = absl::StrCat(verb, "d");
                         return sys::ProcessResult{};
                       });
  ExpectInSync(R"(unit { name: "old.service" enabled: true })");
  ExpectConverges(R"(unit { name: "old.service" enabled: false })", {"enabled"});
  EXPECT_EQ(state, "disabled");
  ExpectInSync(R"(unit { name: "old.service" enabled: false })");
  ExpectConverges(R"(unit { name: "old.service" enabled: true })", {"enabled"});
  EXPECT_THAT(node_.units.log(), IsEmpty());
  // Generated from something else, such as /etc/fstab: it starts at boot because that is there.
  state = "generated";
  ExpectInSync(R"(unit { name: "old.service" enabled: true })");
}

TEST_F(UnitTest, SaysThatAUnitThatOnlyNamesOthersIsNeitherEnabledNorDisabled) {
  Status("a.service").unit_file_state = "indirect";
  node_.units.units["a.service"].has_only_also = true;
  EXPECT_THAT(Make(R"(unit { name: "a.service" enabled: true })")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(R"(unit { name: "a.service" enabled: false })")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(UnitTest, StopsAndDisablesBeforeItMasks) {
  Status("a.service").active_state = "active";
  ASSERT_OK(Make(R"(unit { name: "a.service" masked: true state: UNIT_STATE_STOPPED })")
                ->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("stop a.service", "mask a.service"));
}

TEST_F(UnitTest, ReloadsSystemdBeforeItStartsAChangedUnit) {
  Status("a.service").need_daemon_reload = true;
  ASSERT_OK(Make(R"(unit { name: "a.service" state: UNIT_STATE_RESTARTED })")->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("daemon-reload", "restart a.service"));
}

TEST_F(UnitTest, LeavesSystemdAloneWhereNoFileChanged) {
  Status("a.service");
  Status("stale.service").need_daemon_reload = true;
  Status("stale.service").active_state = "active";
  ExpectInSync(R"(unit { name: "stale.service" state: UNIT_STATE_STARTED })");
  ASSERT_OK(Make(R"(unit { name: "a.service" state: UNIT_STATE_STARTED })")->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("start a.service"));
}

TEST_F(UnitTest, KnowsWhetherItsNextStartReadsAll) {
  Status("a.service").need_daemon_reload = true;
  const auto resource = Make(R"(unit { name: "a.service" state: UNIT_STATE_RESTARTED })");
  auto* restart = dynamic_cast<UnitRestart*>(resource.get());
  ASSERT_NE(restart, nullptr);
  EXPECT_TRUE(*restart->NextStartReadsAll());
  EXPECT_THAT(node_.units.log(), ElementsAre("daemon-reload"));
  EXPECT_FALSE(*restart->Runs());
  Status("a.service").active_state = "active";
  Status("a.service").need_daemon_reload = true;
  EXPECT_FALSE(*restart->NextStartReadsAll());
  EXPECT_FALSE(*restart->Runs());
  Status("a.service").need_daemon_reload = false;
  EXPECT_TRUE(*restart->Runs());
  EXPECT_THAT(node_.units.log(), ElementsAre("daemon-reload"));
}

TEST_F(UnitTest, HandlersAlwaysAct) {
  Status("a.service").active_state = "active";
  const auto restart = Make(R"(unit { name: "a.service" state: UNIT_STATE_RESTARTED })");
  const auto reload = Make(R"(unit { name: "a.service" state: UNIT_STATE_RELOADED })");
  const auto start = Make(R"(unit { name: "a.service" state: UNIT_STATE_STARTED })");
  EXPECT_TRUE(restart->AlwaysChanges());
  EXPECT_TRUE(reload->AlwaysChanges());
  EXPECT_FALSE(start->AlwaysChanges());
  ASSERT_OK(restart->Apply(observer_));
  ASSERT_OK(reload->Apply(observer_));
  ASSERT_OK(start->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("restart a.service", "reload a.service"));
  EXPECT_THAT(Fields(*restart), ElementsAre("state"));
}

TEST_F(UnitTest, AOneshotIsStartedWhenItHasRunSinceBoot) {
  const std::string started = R"(unit { name: "once.service" state: UNIT_STATE_STARTED })";
  Status("once.service").ends_by_itself = true;
  node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot-1\n");
  ExpectConverges(started, {"state"});
  node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot-2\n");
  ExpectConverges(started, {"state"});
  EXPECT_THAT(node_.units.log(), ElementsAre("start once.service", "start once.service"));
  Status("once.service").active_state = "failed";
  ExpectConverges(started, {"state"});
  // Run by somebody else, a timer or the boot.
  node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot-3\n");
  Status("once.service").ended_well = true;
  ExpectInSync(started);
}

TEST_F(UnitTest, TellsThatAConditionKeepsAUnitFromStarting) {
  Status("a.service").conditions_held = false;
  EXPECT_THAT(Make(R"(unit { name: "a.service" state: UNIT_STATE_STARTED })")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(UnitTest, NamesWhatIsWrong) {
  const auto absent = Make(R"(unit { name: "no.service" state: UNIT_STATE_STARTED })");
  EXPECT_THAT(absent->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(absent->Apply(observer_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  Status("bad.service").load_state = "bad-setting";
  EXPECT_THAT(Make(R"(unit { name: "bad.service" state: UNIT_STATE_STARTED })")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Status("masked.service").load_state = "masked";
  EXPECT_THAT(Make(R"(unit { name: "masked.service" state: UNIT_STATE_STARTED })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ExpectInSync(R"(unit { name: "masked.service" masked: true state: UNIT_STATE_STOPPED })");
  Status("static.service").unit_file_state = "static";
  EXPECT_THAT(Make(R"(unit { name: "static.service" enabled: true })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ExpectInSync(R"(unit { name: "static.service" enabled: false })");
  EXPECT_THAT(TryMake(R"(unit { name: "a@.timer" enabled: true })"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  node_.units.units["x.service"].job_error = absl::InternalError("starting x.service: it failed");
  EXPECT_THAT(Make(R"(unit { name: "x.service" state: UNIT_STATE_STARTED })")->Apply(observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

}  // namespace
}  // namespace muster::agent
