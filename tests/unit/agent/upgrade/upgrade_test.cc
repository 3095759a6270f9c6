#include "agent/upgrade/upgrade.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/resources/types.h"
#include "agent/sys/unit_manager.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/counted_acts.h"
#include "tests/fakes/fake_node.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Acts;
using ::muster::testing::CountedFiles;
using ::muster::testing::Death;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

// A machine with a service that is exchanged. A program is a text: the version that it is,
// "broken" when it does not start, "silent" when it is never greeted.
class Machine : public UnitManager, public sys::ProcessRunner {
 public:
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  using sys::ProcessRunner::Run;
  absl::StatusOr<UnitStatus> GetStatus(const std::string&) override { return UnitStatus{}; }
  absl::StatusOr<std::vector<std::string>> ListFailed() override {
    return std::vector<std::string>();
  }
  absl::Status Run(UnitJob job, const std::string& unit) override {
    EXPECT_EQ(unit, place.service);
    acts.Count();
    running = "";
    if (job == UnitJob::kStop) return absl::OkStatus();
    const absl::Status started = Start();
    acts.Count();
    return started;
  }
  absl::Status SetEnabled(const std::string&, bool) override { return absl::OkStatus(); }
  absl::Status SetMasked(const std::string&, bool) override { return absl::OkStatus(); }
  absl::Status DaemonReload() override {
    acts.Count();
    return absl::OkStatus();
  }
  absl::Status StartReboot() override { return absl::OkStatus(); }

  // systemd starts the service: by a job, or at boot.
  virtual absl::Status Start() {
    const std::string program = Read(Program());
    if (program == "broken")
      return absl::InternalError("Main process exited, code=exited, status=1");
    running = program;
    if (program != "silent") Write(place.greeted, program + "\n");
    return absl::OkStatus();
  }
  virtual std::string Program() const = 0;

  // What apt-get and dpkg say before they do anything; nullopt: they do what they are for.
  std::optional<sys::ProcessResult> Refuse(const sys::ProcessSpec& spec) {
    if (spec.argv[0] == "dpkg") {
      EXPECT_THAT(spec.argv, ::testing::IsSupersetOf({"--configure", "-a"}));
      dpkg_was_interrupted = false;
      return sys::ProcessResult{};
    }
    if (dpkg_was_interrupted) {
      return sys::ProcessResult{.exit_code = 100,
                                .output =
                                    "E: dpkg was interrupted, you must manually run "
                                    "'dpkg --configure -a' to correct the problem."};
    }
    return std::nullopt;
  }

  UpgradePlace place;
  Acts acts;
  CountedFiles files{acts};
  std::string running;  // the program of the service's process
  std::string install_fails;
  std::string needrestart_mode;  // of the last apt-get
  int installs = 0;
  bool dpkg_was_interrupted = false;  // by a power cut
};

class AgentMachine final : public Machine {
 public:
  explicit AgentMachine(const std::string& folder) : folder_(folder) {
    const Paths paths(folder + "/state");
    place = AgentPlace(paths);
    place.files = {{folder + "/bin/muster-agent", 0755}, {folder + "/bin/muster-burnin", 0755}};
    std::filesystem::create_directories(folder + "/bin");
    std::filesystem::create_directories(paths.root());
    Write(Program(), "0.1.0");
    Write(folder + "/bin/muster-burnin", "burnin of 0.1.0");
    EXPECT_OK(Start());
  }

  std::string Program() const override { return folder_ + "/bin/muster-agent"; }
  absl::StatusOr<sys::ProcessResult> Run(const sys::ProcessSpec& spec) override {
    acts.Count();
    if (const auto refused = Refuse(spec)) return *refused;
    needrestart_mode = spec.environment.at("NEEDRESTART_MODE");
    ++installs;
    if (!install_fails.empty())
      return sys::ProcessResult{.exit_code = 100, .output = install_fails};
    dpkg_was_interrupted = true;
    Write(Program(), Read(place.Package(0)));
    Write(folder_ + "/bin/muster-burnin", "burnin of another");
    acts.Count();
    dpkg_was_interrupted = false;
    return sys::ProcessResult{};
  }
  using Machine::Run;

 private:
  const std::string folder_;
};

class UpgradeTest : public ::testing::Test {
 protected:
  void Order(const std::string& program) {
    const std::string package = folder_.path() + "/fetched";
    Machine::Write(package, program);
    ASSERT_OK(OrderUpgrade(machine_.place, OrderOf(package), files_, machine_));
  }
  static UpgradeOrder OrderOf(const std::string& package) {
    return {.version = "0.2.0", .before = "0.1.0", .packages = {package}, .may_move = true};
  }
  absl::Status Carry(Machine& machine) {
    return Upgrade(machine.place, machine.files, machine, machine, clock_);
  }
  void ExpectBack(AgentMachine& machine) {
    EXPECT_EQ(machine.running, "0.1.0");
    EXPECT_EQ(Machine::Read(machine.Program()), "0.1.0");
    EXPECT_EQ(Machine::Read(machine.place.files[1].path), "burnin of 0.1.0");
    EXPECT_FALSE(std::filesystem::exists(machine.place.Order()));
  }

  testing::TempDir folder_;
  AgentMachine machine_{folder_.path()};
  sys::RealFileSystem files_;
  testing::FakeClock clock_;
};

TEST_F(UpgradeTest, WithoutAnOrderNothingHappens) {
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.acts.count, 0);
}

TEST_F(UpgradeTest, AGoodProgramTakesThePlaceAndLeavesNothing) {
  Order("0.2.0");
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.running, "0.2.0");
  EXPECT_EQ(TakeFailure(machine_.place, files_).value(), "");
  for (const std::string& path : {machine_.place.Order(), machine_.place.Package(0),
                                  machine_.place.Previous(machine_.place.files[0])})
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

// needrestart restarted slurmd and the agent in the middle of the exchange.
TEST_F(UpgradeTest, NothingIsRestartedBesides) {
  Order("0.2.0");
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.needrestart_mode, "l");
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
  EXPECT_EQ(machine_.installs, 1) << "a second attempt would fail as the first, after as long";
}

// By another exchange, or by whoever else installed packages.
TEST_F(UpgradeTest, APowerCutInTheMiddleOfDpkgKeepsNothingOut) {
  Order("0.2.0");
  machine_.dpkg_was_interrupted = true;
  EXPECT_OK(Carry(machine_));
  EXPECT_EQ(machine_.running, "0.2.0");
  EXPECT_EQ(machine_.installs, 1);
}

TEST_F(UpgradeTest, DeathAtAnyActIsContinued) {
  for (const char* program : {"0.2.0", "broken"}) {
    const bool good = program == absl::string_view("0.2.0");
    int deaths = 0;
    for (int act = 1; act < 100; ++act) {
      SCOPED_TRACE(absl::StrCat(program, ", act ", act));
      testing::TempDir folder;
      AgentMachine machine(folder.path());
      Machine::Write(folder.path() + "/fetched", program);
      ASSERT_OK(OrderUpgrade(machine.place, OrderOf(folder.path() + "/fetched"), files_, machine));
      machine.acts.die_at = act;
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
    EXPECT_GE(deaths, 12);
  }
}

// The agent of before takes the reason with it as soon as it runs, before the exchange is over.
TEST_F(UpgradeTest, WhatIsReportedAlreadyIsNotTriedAgain) {
  int reported = 0;
  for (int act = 1; act < 100; ++act) {
    SCOPED_TRACE(absl::StrCat("act ", act));
    testing::TempDir folder;
    AgentMachine machine(folder.path());
    Machine::Write(folder.path() + "/fetched", "broken");
    ASSERT_OK(OrderUpgrade(machine.place, OrderOf(folder.path() + "/fetched"), files_, machine));
    machine.acts.count = 0;
    machine.acts.die_at = act;
    try {
      EXPECT_OK(Carry(machine));
      break;
    } catch (const Death&) {
    }
    const bool is_back = machine.running == "0.1.0" && machine.installs == 1;
    if (!is_back || TakeFailure(machine.place, files_).value().empty()) continue;
    ++reported;
    EXPECT_OK(Carry(machine));
    EXPECT_EQ(machine.installs, 1);
    ExpectBack(machine);
    EXPECT_EQ(TakeFailure(machine.place, files_).value(), "");
  }
  EXPECT_GE(reported, 2);
}

// A machine with musterd: its package has the program and one of the agent's packages, its store
// has a line for each life of a musterd that took calls, and one that its schema is a newer one's.
class ControllerMachine final : public Machine {
 public:
  explicit ControllerMachine(const std::string& folder) : folder_(folder) {
    const Paths paths(folder + "/state");
    place = ControllerPlace(paths);
    place.program = folder + "/bin/muster-agent";
    for (const char* name : {"/bin", "/share", "/musterd", "/state"})
      std::filesystem::create_directories(folder + name);
    Write(place.program, "agent");
    Write(folder + "/bin/musterd", "0.1.0");
    Write(folder + "/share/agent_0.1.0.deb", "agent of 0.1.0");
    Write(Store(), "");
    Write(folder + "/musterd/muster.db-shm", "index");
    EXPECT_OK(Start());
  }

  std::string Program() const override { return folder_ + "/bin/musterd"; }
  std::string Store() const { return folder_ + "/musterd/muster.db"; }
  std::string Probation() const { return folder_ + "/musterd/probation"; }

  absl::StatusOr<sys::ProcessResult> Run(const sys::ProcessSpec& spec) override {
    if (spec.argv[0] == "dpkg-query") return List();
    acts.Count();
    if (const auto refused = Refuse(spec)) return *refused;
    dpkg_was_interrupted = true;
    Write(Program(), Read(place.Package(0)));
    std::filesystem::remove(folder_ + "/share/agent_0.1.0.deb");
    Write(folder_ + "/share/agent_0.2.0.deb", "agent of 0.2.0");
    acts.Count();
    dpkg_was_interrupted = false;
    return sys::ProcessResult{};
  }
  using Machine::Run;

  absl::Status Start() override {
    const std::string program = Read(Program());
    if (program != "0.1.0") Write(Store(), Read(Store()) + "schema of 0.2.0\n");
    RETURN_IF_ERROR(Machine::Start());
    if (std::filesystem::exists(Probation())) return absl::OkStatus();
    EXPECT_TRUE(program != "0.1.0" || !absl::StrContains(Read(Store()), "schema of 0.2.0"))
        << "an older musterd has a newer store";
    Write(Store(), absl::StrCat(Read(Store()), "served by ", program, "\n"));
    ++served[program];
    return absl::OkStatus();
  }

  UpgradeOrder Order(const std::string& program) {
    Write(folder_ + "/fetched", program);
    return {.version = "0.2.0",
            .before = "0.1.0",
            .packages = {folder_ + "/fetched"},
            .names = {"muster-controller"},
            .state_folder = folder_ + "/musterd"};
  }

  // Nothing that a musterd took was lost, and nothing is left to be done.
  void ExpectSettled() const {
    const std::vector<std::string> lines = absl::StrSplit(Read(Store()), '\n');
    for (const auto& [program, lives] : served)
      EXPECT_EQ(std::count(lines.begin(), lines.end(), "served by " + program), lives);
    EXPECT_FALSE(std::filesystem::exists(Probation()));
    EXPECT_FALSE(std::filesystem::exists(place.Order()));
  }
  // What one that died behind the end of its order leaves goes with the next order.
  void ExpectClean() const {
    for (const std::string& path :
         {place.Good(), place.State(), place.PreviousFolder(), place.Program()})
      EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
  void ExpectNew() {
    ExpectSettled();
    EXPECT_EQ(running, "0.2.0");
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/share/agent_0.2.0.deb"));
    EXPECT_EQ(Read(folder_ + "/musterd/update"), "done 0.1.0 0.2.0\n\n");
  }
  void ExpectOld() {
    ExpectSettled();
    EXPECT_EQ(running, "0.1.0");
    EXPECT_EQ(Read(Program()), "0.1.0");
    EXPECT_THAT(Read(Store()), ::testing::Not(HasSubstr("schema")));
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/share/agent_0.1.0.deb"));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/share/agent_0.2.0.deb"));
    EXPECT_THAT(Read(folder_ + "/musterd/update"), HasSubstr("back 0.1.0 0.2.0\n"));
  }

  std::map<std::string, int> served;

 private:
  absl::StatusOr<sys::ProcessResult> List() {
    sys::ProcessResult result;
    absl::StrAppend(&result.out, "/.\n", folder_, "/bin\n", Program(), "\n");
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/share"))
      absl::StrAppend(&result.out, entry.path().string(), "\n");
    return result;
  }

  const std::string folder_;
};

class ControllerUpgradeTest : public ::testing::Test {
 protected:
  absl::Status Carry(ControllerMachine& machine) {
    return Upgrade(machine.place, machine.files, machine, machine, clock_);
  }

  sys::RealFileSystem files_;
  testing::FakeClock clock_;
};

TEST_F(ControllerUpgradeTest, AGoodOneTakesThePlaceAndKeepsTheStore) {
  testing::TempDir folder;
  ControllerMachine machine(folder.path());
  ASSERT_OK(OrderUpgrade(machine.place, machine.Order("0.2.0"), files_, machine));
  EXPECT_OK(Carry(machine));
  machine.ExpectNew();
  machine.ExpectClean();
  EXPECT_EQ(TakeFailure(machine.place, files_).value(), "");
}

TEST_F(ControllerUpgradeTest, OneThatIsNotUpIsTakenBackWithItsStore) {
  struct Case {
    const char* program;
    const char* reason;
  };
  for (const Case& row : {Case{"broken", "status=1"},
                          Case{"silent", "did not welcome the agent of its own machine within 3m"},
                          Case{"0.3.0", "has musterd 0.3.0 in it"}}) {
    SCOPED_TRACE(row.program);
    testing::TempDir folder;
    ControllerMachine machine(folder.path());
    ASSERT_OK(OrderUpgrade(machine.place, machine.Order(row.program), files_, machine));
    EXPECT_OK(Carry(machine));
    machine.ExpectOld();
    machine.ExpectClean();
    EXPECT_THAT(TakeFailure(machine.place, files_).value(), HasSubstr(row.reason));
  }
}

TEST_F(ControllerUpgradeTest, DeathAtAnyActIsContinuedAndLosesNothing) {
  for (const char* program : {"0.2.0", "broken"}) {
    for (const bool boots : {false, true}) {
      int deaths = 0;
      for (int act = 1; act < 200; ++act) {
        SCOPED_TRACE(absl::StrCat(program, boots ? ", boot" : "", ", act ", act));
        testing::TempDir folder;
        ControllerMachine machine(folder.path());
        ASSERT_OK(OrderUpgrade(machine.place, machine.Order(program), files_, machine));
        machine.acts.count = 0;
        machine.acts.die_at = act;
        bool died = false;
        try {
          EXPECT_OK(Carry(machine));
        } catch (const Death&) {
          died = true;
          ++deaths;
          if (boots) machine.Start().IgnoreError();
          EXPECT_OK(Carry(machine));
        }
        if (program == absl::string_view("0.2.0")) {
          machine.ExpectNew();
        } else {
          machine.ExpectOld();
          EXPECT_NE(TakeFailure(machine.place, files_).value(), "");
        }
        if (!died) break;
      }
      EXPECT_GE(deaths, 20);
    }
  }
}

class ControllerVersionTest : public ::testing::Test {
 protected:
  ControllerVersionTest() {
    context_.controller_upgrade = machine_.place;
    node_.units.units[kControllerUpgradeUnit] = {};
    using Fake = testing::FakeProcessRunner;
    Fake& programs = node_.processes;
    programs.On("/usr/bin/musterd --version", Fake::Prints("musterd 0.1.0\n"));
    programs.On("/usr/bin/musterd --state-directory", Fake::Prints(folder_.path() + "/musterd\n"));
    programs.On("dpkg --compare-versions 0.2.0 lt 0.1.0", Fake::Prints("", 1));
    programs.On("dpkg --compare-versions 0.0.9 lt 0.1.0", Fake::Prints(""));
    programs.On("dpkg-deb --field " + Package() + " Package", Fake::Prints("muster-controller\n"));
    programs.On("dpkg-deb --field " + Package() + " Version", Fake::Prints("0.2.0\n"));
    programs.On("dpkg-query --show", Fake::Prints("installed"));
    programs.On("dpkg-query --listfiles muster-controller",
                [this](const sys::ProcessSpec& spec) { return *machine_.Run(spec); });
    Machine::Write(Package(), "0.2.0");
  }

  std::string Package() const { return folder_.path() + "/controller.deb"; }
  std::unique_ptr<Resource> Make(const std::string& version, bool allow_downgrade = false) {
    v1::Step step;
    step.set_step_id("controller_update/musterd");
    v1::ControllerResource& spec = *step.mutable_controller();
    spec.set_version(version);
    spec.add_packages(Package());
    spec.set_allow_downgrade(allow_downgrade);
    auto resource = MakeResource(step, context_, /*want_diff=*/false);
    EXPECT_OK(resource);
    return *std::move(resource);
  }

  // The exchange is carried out by another process, while the agent looks.
  class Observer final : public ApplyObserver {
   public:
    explicit Observer(std::function<void()> at_third_look) : act_(std::move(at_third_look)) {}
    void OnActivity(absl::string_view, std::optional<float>) override {}
    void OnOutput(absl::string_view) override {}
    bool IsStopping() const override {
      if (++looks_ == 3 && act_ != nullptr) act_();
      return looks_ > 10;
    }
    bool IsContinued() const override { return is_continued; }

    bool is_continued = false;

   private:
    const std::function<void()> act_;
    mutable int looks_ = 0;
  };

  testing::TempDir folder_;
  ControllerMachine machine_{folder_.path()};
  sys::RealFileSystem files_;
  testing::FakeNode node_;
  ResourceContext context_{files_,         node_.processes, node_.units,
                           node_.packages, node_.accounts,  node_.blobs,
                           node_.records,  node_.clock,     node_.disks};
};

TEST_F(ControllerVersionTest, IsInSyncInItsOwnVersionWhenNoExchangeIsInProgress) {
  EXPECT_THAT(Make("0.1.0")->Check().value(), ::testing::IsEmpty());
  EXPECT_THAT(Make("0.2.0")->Check().value(),
              ::testing::ElementsAre(Change{"version", "0.1.0", "0.2.0"}));
  ASSERT_OK(OrderUpgrade(machine_.place, machine_.Order("0.2.0"), files_, machine_));
  EXPECT_EQ(Make("0.1.0")->Check().value().size(), 1);
}

TEST_F(ControllerVersionTest, OrdersTheExchangeAndWaitsForItsEnd) {
  testing::FakeClock clock;
  Observer observer([&] { EXPECT_OK(Upgrade(machine_.place, files_, machine_, machine_, clock)); });
  EXPECT_OK(Make("0.2.0")->Apply(observer));
  machine_.ExpectNew();
  EXPECT_THAT(node_.units.log(),
              ::testing::ElementsAre(absl::StrCat("start ", kControllerUpgradeUnit)));
  EXPECT_FALSE(std::filesystem::exists(Package()));
}

TEST_F(ControllerVersionTest, SaysWhyItWasTakenBack) {
  Machine::Write(Package(), "broken");
  testing::FakeClock clock;
  Observer observer([&] { EXPECT_OK(Upgrade(machine_.place, files_, machine_, machine_, clock)); });
  EXPECT_THAT(Make("0.2.0")->Apply(observer),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  machine_.ExpectOld();
}

TEST_F(ControllerVersionTest, AnAgentThatCameBackWaitsForTheSameExchange) {
  Observer stopped(nullptr);
  EXPECT_THAT(Make("0.2.0")->Apply(stopped), StatusIs(absl::StatusCode::kCancelled, Said()));
  testing::FakeClock clock;
  Observer observer([&] { EXPECT_OK(Upgrade(machine_.place, files_, machine_, machine_, clock)); });
  EXPECT_OK(Make("0.2.0")->Apply(observer));
  machine_.ExpectNew();
}

TEST_F(ControllerVersionTest, OnlyTheAttemptThatOrderedItAsksWhyItWasTakenBack) {
  ASSERT_OK(files_.MakeDirectory(machine_.place.folder, 0700));
  const auto leave_reason = [&] {
    ASSERT_OK(WriteNote(machine_.place.Failure(), "it started, then failed", files_));
  };
  leave_reason();
  Observer continued(nullptr);
  continued.is_continued = true;
  EXPECT_THAT(Make("0.2.0")->Apply(continued),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("then failed")));
  leave_reason();
  testing::FakeClock clock;
  Observer observer([&] { EXPECT_OK(Upgrade(machine_.place, files_, machine_, machine_, clock)); });
  EXPECT_OK(Make("0.2.0")->Apply(observer));
  machine_.ExpectNew();
}

TEST_F(ControllerVersionTest, RefusesBeforeAnythingHappens) {
  using Fake = testing::FakeProcessRunner;
  Observer observer(nullptr);
  const auto expect = [&](const std::string& version, absl::StatusCode code) {
    EXPECT_THAT(Make(version)->Apply(observer), StatusIs(code, Said()));
    EXPECT_FALSE(std::filesystem::exists(machine_.place.Order()));
    EXPECT_THAT(node_.units.log(), ::testing::IsEmpty());
  };
  expect("0.0.9", absl::StatusCode::kFailedPrecondition);  // older
  node_.processes.On("dpkg-deb --field " + Package() + " Version", Fake::Prints("0.3.0\n"));
  expect("0.2.0", absl::StatusCode::kInvalidArgument);  // another version in the package
  node_.processes.On("dpkg-deb --field " + Package() + " Package", Fake::Prints("bash\n"));
  expect("0.2.0", absl::StatusCode::kInvalidArgument);
  node_.processes.RemovePrograms();
  expect("0.2.0", absl::StatusCode::kFailedPrecondition);  // no musterd
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
    bool IsStopping() const override {
      if (++looks_ == 2 && at_second_look) at_second_look();
      return looks_ > 3;
    }
    bool IsContinued() const override { return is_continued; }

    std::function<void()> at_second_look;
    bool is_continued = false;

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
  EXPECT_EQ(Machine::Read(machine_.place.Package(0)), "0.2.0");
  EXPECT_EQ(Machine::Read(machine_.place.Previous(machine_.place.files[0])), "0.1.0");
  EXPECT_THAT(node_.units.log(), ::testing::ElementsAre(absl::StrCat("start ", kUpgradeUnit)));
}

TEST_F(AgentVersionTest, TheAgentThatIsBackSaysWhyOnce) {
  Order("broken");
  EXPECT_OK(Carry(machine_));
  observer_.is_continued = true;
  EXPECT_THAT(Make("0.2.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_FALSE(std::filesystem::exists(machine_.place.Order()));
  // The next run tries again.
  EXPECT_THAT(Make("0.2.0")->Apply(observer_), StatusIs(absl::StatusCode::kCancelled, Said()));
}

// What is kept is the version of before alone, and may not be replaced by one that is on trial.
TEST_F(AgentVersionTest, AnotherExchangeIsLeftToEnd) {
  Order("0.2.0");
  context_.upgrade.running = "0.2.0";
  EXPECT_EQ(Make("0.3.0")->Check().value().size(), 1);
  EXPECT_THAT(Make("0.3.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("0.2.0")));
  EXPECT_EQ(Machine::Read(machine_.place.Order()), "0.2.0\n");
  EXPECT_EQ(Machine::Read(machine_.place.Previous(machine_.place.files[0])), "0.1.0");
  EXPECT_THAT(node_.units.log(), ::testing::ElementsAre(absl::StrCat("start ", kUpgradeUnit)));
  // Its own version is not there to stay, either.
  context_.upgrade.running = "0.3.0";
  EXPECT_EQ(Make("0.3.0")->Check().value().size(), 1);
  EXPECT_OK(Carry(machine_));
  EXPECT_THAT(Make("0.3.0")->Check().value(), ::testing::IsEmpty());
}

// A plan that was cancelled under way has not asked for it.
TEST_F(AgentVersionTest, AReasonThatNobodyAskedForDoesNotFailTheNextAttempt) {
  Order("broken");
  EXPECT_OK(Carry(machine_));
  EXPECT_THAT(Make("0.2.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("is exchanged")));
  EXPECT_EQ(Machine::Read(machine_.place.Order()), "0.2.0\n");
  EXPECT_EQ(TakeFailure(machine_.place, files_).value(), "");
}

TEST_F(AgentVersionTest, ANewAgentIsInSyncOnceItIsDecidedThatItStays) {
  Order("0.2.0");
  context_.upgrade.running = "0.2.0";
  EXPECT_EQ(Make("0.2.0")->Check().value().size(), 1);
  observer_.is_continued = true;
  observer_.at_second_look = [this] { EXPECT_OK(Carry(machine_)); };
  EXPECT_OK(Make("0.2.0")->Apply(observer_));
  EXPECT_THAT(Make("0.2.0")->Check().value(), ::testing::IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(machine_.place.Order()));
}

TEST_F(AgentVersionTest, ANewAgentThatIsTakenBackLeavesTheReasonToTheOneOfBefore) {
  Order("0.2.0");
  observer_.is_continued = true;
  context_.upgrade.running = "0.2.0";
  ASSERT_OK(WriteNote(machine_.place.Failure(), "it did not reach the controller", files_));
  EXPECT_THAT(Make("0.2.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("is exchanged")));
  context_.upgrade.running = "0.1.0";
  EXPECT_THAT(Make("0.2.0")->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("did not reach")));
}

}  // namespace
}  // namespace muster::agent
