#include "agent/upgrade/upgrade.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "agent/resources/types.h"
#include "agent/sys/unit_manager.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_node.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

struct Death {};

// A machine with an agent. A program is a text: the version that it reports to the controller,
// "broken" when it does not start, "silent" when it never reaches the controller. Every act counts,
// and `die_at` ends the one who acts after that many.
class Machine final : public UnitManager, public sys::ProcessRunner {
 public:
  explicit Machine(const std::string& folder) : folder_(folder) {
    place.paths = Paths(folder + "/state");
    place.files = {{folder + "/bin/muster-agent", 0755}, {folder + "/bin/muster-burnin", 0755}};
    std::filesystem::create_directories(folder + "/bin");
    std::filesystem::create_directories(place.paths.root());
    Write(Program(), "0.1.0");
    Write(folder + "/bin/muster-burnin", "burnin of 0.1.0");
    EXPECT_OK(Start());
  }

  std::string Program() const { return folder_ + "/bin/muster-agent"; }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  absl::StatusOr<sys::ProcessResult> Run(const sys::ProcessSpec& spec) override {
    Act();
    if (!install_fails.empty())
      return sys::ProcessResult{.exit_code = 100, .output = install_fails};
    Write(Program(), Read(place.Package()));
    Write(folder_ + "/bin/muster-burnin", "burnin of another");
    Act();
    return sys::ProcessResult{};
  }
  absl::StatusOr<UnitStatus> GetStatus(const std::string&) override { return UnitStatus{}; }
  absl::StatusOr<std::vector<std::string>> ListFailed() override {
    return std::vector<std::string>();
  }
  absl::Status Run(UnitJob job, const std::string& unit) override {
    EXPECT_EQ(unit, kServiceUnit);
    Act();
    running = "";
    if (job == UnitJob::kStop) return absl::OkStatus();
    const absl::Status started = Start();
    Act();
    return started;
  }
  absl::Status SetEnabled(const std::string&, bool) override { return absl::OkStatus(); }
  absl::Status SetMasked(const std::string&, bool) override { return absl::OkStatus(); }
  absl::Status DaemonReload() override {
    Act();
    return absl::OkStatus();
  }
  absl::Status StartReboot() override { return absl::OkStatus(); }

  UpgradePlace place;
  std::string running;  // the program of the agent's process
  std::string install_fails;
  int acts = 0;
  int die_at = 0;  // 0: never

 private:
  void Act() {
    if (++acts == die_at) throw Death();
  }
  absl::Status Start() {
    const std::string program = Read(Program());
    if (program == "broken")
      return absl::InternalError("Main process exited, code=exited, status=1");
    running = program;
    if (program != "silent") Write(place.Greeted(), program + "\n");
    return absl::OkStatus();
  }

  const std::string folder_;
};

class UpgradeTest : public ::testing::Test {
 protected:
  void Order(const std::string& program) {
    const std::string package = folder_.path() + "/fetched";
    Machine::Write(package, program);
    ASSERT_OK(OrderUpgrade(machine_.place, "0.2.0", package, /*may_move=*/true, files_));
  }
  absl::Status Carry(Machine& machine) {
    return Upgrade(machine.place, files_, machine, machine, clock_);
  }
  void ExpectBack(Machine& machine) {
    EXPECT_EQ(machine.running, "0.1.0");
    EXPECT_EQ(Machine::Read(machine.Program()), "0.1.0");
    EXPECT_EQ(Machine::Read(machine.place.files[1].path), "burnin of 0.1.0");
    EXPECT_FALSE(std::filesystem::exists(machine.place.Order()));
  }

  testing::TempDir folder_;
  Machine machine_{folder_.path()};
  sys::RealFileSystem files_;
  testing::FakeClock clock_;
};

TEST_F(UpgradeTest, WithoutAnOrderNothingHappens) {
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.acts, 0);
}

TEST_F(UpgradeTest, AGoodProgramTakesThePlaceAndLeavesNothing) {
  Order("0.2.0");
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.running, "0.2.0");
  EXPECT_EQ(TakeFailure(machine_.place, files_).value(), "");
  for (const std::string& path : {machine_.place.Order(), machine_.place.Package(),
                                  machine_.place.Previous(machine_.place.files[0])})
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(UpgradeTest, WhatDoesNotComeUpIsTakenBackWithItsReason) {
  struct Case {
    const char* program;
    const char* reason;
  };
  for (const Case& row :
       {Case{"broken", "status=1"}, Case{"silent", "did not reach the controller"},
        Case{"0.3.0", "has agent 0.3.0 in it"}}) {
    SCOPED_TRACE(row.program);
    Order(row.program);
    EXPECT_OK(Carry(machine_));
    ExpectBack(machine_);
    EXPECT_THAT(TakeFailure(machine_.place, files_).value(), HasSubstr(row.reason));
    EXPECT_EQ(TakeFailure(machine_.place, files_).value(), "");
  }
}

TEST_F(UpgradeTest, APackageThatDoesNotInstallIsTakenBack) {
  Order("0.2.0");
  machine_.install_fails = "dpkg: error: no space left";
  EXPECT_OK(Carry(machine_));
  ExpectBack(machine_);
  EXPECT_THAT(TakeFailure(machine_.place, files_).value(), HasSubstr("no space left"));
}

TEST_F(UpgradeTest, DeathAtAnyActIsContinued) {
  for (const char* program : {"0.2.0", "broken"}) {
    const bool good = program == absl::string_view("0.2.0");
    int deaths = 0;
    for (int act = 1; act < 100; ++act) {
      SCOPED_TRACE(absl::StrCat(program, ", act ", act));
      testing::TempDir folder;
      Machine machine(folder.path());
      Machine::Write(folder.path() + "/fetched", program);
      ASSERT_OK(OrderUpgrade(machine.place, "0.2.0", folder.path() + "/fetched", true, files_));
      machine.die_at = act;
      bool died = false;
      try {
        EXPECT_OK(Carry(machine));
      } catch (const Death&) {
        died = true;
        ++deaths;
        EXPECT_OK(Carry(machine));
      }
      if (good) {
        EXPECT_EQ(machine.running, "0.2.0");
        EXPECT_FALSE(std::filesystem::exists(machine.place.Order()));
      } else {
        ExpectBack(machine);
        EXPECT_NE(TakeFailure(machine.place, files_).value(), "");
      }
      if (!died) break;
    }
    EXPECT_GE(deaths, 6);
  }
}

class AgentVersionTest : public UpgradeTest {
 protected:
  AgentVersionTest() {
    context_.upgrade = machine_.place;
    context_.upgrade.running = "0.1.0";
    node_.units.units[kUpgradeUnit] = {};
  }
  std::unique_ptr<Resource> Make(const std::string& version) {
    v1::Step step;
    step.set_step_id("base/agent");
    step.mutable_agent()->set_version(version);
    step.mutable_agent()->add_urls("http://login1:7480/packages/muster-agent_0.2.0_amd64.deb");
    step.mutable_agent()->set_sha256(node_.blobs.Add("0.2.0"));
    auto resource = MakeResource(step, context_, /*want_diff=*/false);
    EXPECT_OK(resource);
    return *std::move(resource);
  }

  // The agent ends after some looks, as systemd stops it.
  class Observer final : public ApplyObserver {
   public:
    void OnActivity(absl::string_view, std::optional<float>) override {}
    void OnOutput(absl::string_view) override {}
    bool IsStopping() const override { return ++looks_ > 3; }

   private:
    mutable int looks_ = 0;
  };

  testing::FakeNode node_;
  ResourceContext context_{files_,         node_.processes, node_.units,
                           node_.packages, node_.accounts,  node_.blobs,
                           node_.records,  node_.clock,     node_.disks};
  Observer observer_;
};

TEST_F(AgentVersionTest, IsInSyncInItsOwnVersionAlone) {
  EXPECT_THAT(Make("0.1.0")->Check().value(), ::testing::IsEmpty());
  EXPECT_THAT(Make("0.2.0")->Check().value(),
              ::testing::ElementsAre(Change{"version", "0.1.0", "0.2.0"}));
  // An older one, too: a controller that was taken back brings its own.
  EXPECT_THAT(Make("0.0.9")->Check().value(),
              ::testing::ElementsAre(Change{"version", "0.1.0", "0.0.9"}));
}

TEST_F(AgentVersionTest, OrdersTheExchangeAndLetsGoWhenItIsStopped) {
  EXPECT_THAT(Make("0.2.0")->Apply(observer_), StatusIs(absl::StatusCode::kCancelled, Said()));
  EXPECT_EQ(Machine::Read(machine_.place.Order()), "0.2.0\n");
  EXPECT_EQ(Machine::Read(machine_.place.Package()), "0.2.0");
  EXPECT_EQ(Machine::Read(machine_.place.Previous(machine_.place.files[0])), "0.1.0");
  EXPECT_THAT(node_.units.log(), ::testing::ElementsAre(absl::StrCat("start ", kUpgradeUnit)));
}

TEST_F(AgentVersionTest, TheAgentThatIsBackSaysWhyOnce) {
  Order("broken");
  EXPECT_OK(Carry(machine_));
  EXPECT_THAT(Make("0.2.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_FALSE(std::filesystem::exists(machine_.place.Order()));
  // The next run tries again.
  EXPECT_THAT(Make("0.2.0")->Apply(observer_), StatusIs(absl::StatusCode::kCancelled, Said()));
}

}  // namespace
}  // namespace muster::agent
