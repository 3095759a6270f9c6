// The agent's session against a controller over loopback.
#include "agent/session/session.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/command/command_supervisor.h"
#include "agent/health/health_monitor.h"
#include "agent/health/renewal_trouble.h"
#include "agent/reading/reading_watch.h"
#include "agent/session/controller_stream.h"
#include "agent/session/permit_requests.h"
#include "agent/slurm/slurm_requests.h"
#include "agent/validation/check_supervisor.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "tests/fakes/fake_accounts.h"
#include "tests/fakes/fake_controller.h"
#include "tests/fakes/fake_machine.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;

constexpr char kNode[] = "6a1f0d0e-0000-4000-8000-000000000001";

class CountingFacts final : public FactsSource {
 public:
  v1::Facts Gather(bool with_packages) override {
    if (with_packages && before_packages) before_packages();
    v1::Facts facts;
    facts.mutable_os()->set_id("debian");
    if (with_packages) facts.mutable_packages()->add_lines("munge amd64 0.5.15-2");
    return facts;
  }

  std::function<void()> before_packages;  // to be set before the session starts
};

// A full file system.
class FullDisk final : public health::Probe {
 public:
  absl::StatusOr<health::Findings> Look(const muster::health::Limits&) override {
    health::Findings findings;
    findings.Bad("disk_full", "/", "97 %");
    return findings;
  }
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : paths_(dir_.path() + "/muster") {
    const absl::Time now = clock_.Now();
    ca_ = pki::MakeCa("test", absl::Hours(24), now).value();
  }
  ~SessionTest() override { Stop(); }

  std::string Sign(const std::string& csr, absl::Duration not_before, absl::Duration not_after) {
    const absl::Time now = clock_.Now();
    return pki::SignCsr(ca_, csr, {.common_name = "c001"},
                        {.not_before = now + not_before, .not_after = now + not_after},
                        pki::Usage::kClient)
        .value();
  }
  void Join(absl::Duration not_before, absl::Duration not_after) {
    const pki::KeyAndCsr made = pki::MakeKeyAndCsr("c001").value();
    ASSERT_OK(StoreIdentity(paths_,
                            {.node_uuid = kNode,
                             .node_name = "c001",
                             .controller_address = controller_.address(),
                             .ca_pem = ca_.certificate_pem,
                             .certificate_pem = Sign(made.csr_pem, not_before, not_after),
                             .key_pem = made.key_pem},
                            files_));
  }

  void Start(size_t in_flight = 64) {
    if (!HasIdentity(paths_, files_).value()) Join(-absl::Hours(1), absl::Hours(23));
    journal_ =
        Journal::Open({.directory = paths_.JournalDirectory(), .node_uuid = kNode}, clock_).value();
    mailbox_ = std::make_unique<Mailbox>([this](absl::string_view note) {
      if (on_note_) on_note_(note);
      absl::MutexLock lock(&mutex_);
      notes_ += std::string(note) + "\n";
    });
    if (told_early_.has_value()) mailbox_->AddFacts(*std::move(told_early_));
    reboots_ = std::make_unique<PermitRequests>("boot", files_, accounts_, *mailbox_, clock_);
    engine_ = std::make_unique<Engine>(
        Engine::Options{.node_uuid = kNode,
                        .reboots = {.boot_id = "boot", .gate = reboots_.get()},
                        .run = {.tick = absl::Minutes(1)}},
        [this](const v1::Step& step, bool want_diff) { return node_.Make(step); }, *journal_,
        clock_, *mailbox_);
    engine_->Start();
    Session::Options options;
    options.agent_version = "0.1.0";
    options.boot_id = "boot";
    options.first_backoff = absl::Milliseconds(20);
    options.longest_backoff = absl::Milliseconds(100);
    options.max_reports_in_flight = in_flight;
    options.open_channel = [](const Identity& identity) {
      // A refused connection may be tried again at once.
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      return grpc::CreateCustomChannel(identity.controller_address,
                                       grpc::InsecureChannelCredentials(), arguments);
    };
    checks_ = std::make_unique<CheckSupervisor>(
        CheckSupervisor::Options{.worker = dir_.path() + "/worker",
                                 .boot_id = "boot",
                                 .active_plan = [this] { return engine_->active_plan_id(); },
                                 .wake = [this] { mailbox_->Wake(); }},
        paths_.CheckDirectory(), files_, processes_, clock_);
    ASSERT_OK(checks_->Recover());
    slurm_ = std::make_unique<SlurmRequests>(
        [this](const v1::SlurmRequest& request) {
          slurm_may_answer_.WaitForNotification();
          v1::SlurmAnswer answer;
          answer.set_request_id(request.request_id());
          answer.mutable_nodes()->add_nodes()->set_name("c001");
          return answer;
        },
        [this] { mailbox_->Wake(); }, clock_);
    commands_ = std::make_unique<CommandSupervisor>(
        [](const v1::StartCommand& command, sys::ProcessControl&) {
          v1::CommandEnd end;
          end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
          end.set_output(command.argv(0));
          return end;
        },
        [this] { mailbox_->Wake(); });
    health_ = std::make_unique<health::HealthMonitor>(
        health::HealthMonitor::Options{
            .boot_id = "boot",
            .record_path = paths_.Health(),
            .local_report = dir_.path() + "/run/health",
            .log_path = dir_.path() + "/kmsg",
            .probes = {{.name = "disk",
                        .conditions = {{"disk_full", {}}},
                        .interval = absl::Seconds(30),
                        .time_limit = absl::Seconds(10),
                        .probe = std::make_shared<FullDisk>()}},
            .run_site = [](const v1::StartCommand&) { return v1::CommandEnd(); },
            .wake = [this] { mailbox_->Wake(); },
            .note = [this](absl::string_view note) { mailbox_->OnNote(note); },
            .since_boot = [] { return absl::Hours(1); }},
        trends_, gpus_, files_, clock_);
    ASSERT_OK(files_.WriteAtomically(dir_.path() + "/kmsg", "", {}));
    health_->Start();
    readings_ = std::make_unique<ReadingWatch>(
        [] {
          v1::NodeReadings readings;
          readings.set_memory_total_bytes(4711);
          return readings;
        },
        [this] { mailbox_->Wake(); }, clock_);
    readings_->Start();
    session_ = std::make_unique<Session>(options, paths_, files_, *engine_, *journal_, *mailbox_,
                                         *reboots_, *checks_, *slurm_, *commands_, *health_,
                                         renewal_, *readings_, facts_, channel_, clock_);
    thread_ = std::thread([this] { session_->Run(); });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    mailbox_->SetStopping();
    thread_.join();
    session_.reset();
    if (!slurm_may_answer_.HasBeenNotified()) slurm_may_answer_.Notify();
    slurm_.reset();
    commands_.reset();
    readings_.reset();
    health_.reset();
    checks_.reset();
    engine_.reset();
    journal_.reset();
  }
  std::string notes() {
    absl::MutexLock lock(&mutex_);
    return notes_;
  }

  v1::Plan MakePlan(uint64_t sequence, int steps) {
    v1::Plan plan;
    plan.set_plan_id(absl::StrCat("r-", sequence, "/0"));
    plan.set_sequence(sequence);
    plan.set_node_uuid(kNode);
    v1::RolePlan& role = *plan.add_roles();
    role.set_name("r");
    for (int i = 0; i < steps; ++i) {
      v1::Step& step = *role.add_steps();
      step.set_step_id(absl::StrCat("r/", i));
      step.mutable_file()->set_path(absl::StrCat("/", sequence, "/", i));
      step.mutable_file()->set_content("x");
    }
    return plan;
  }
  void SendPlan(const v1::Plan& plan) {
    v1::ControllerMessage message;
    *message.mutable_plan() = plan;
    controller_.Send(std::move(message));
  }
  static bool HasOutcome(const FakeController& controller, const std::string& plan_id) {
    for (const auto& [sequence, report] : controller.reports) {
      if (report.plan_id() == plan_id && report.has_outcome()) return true;
    }
    return false;
  }

  muster::testing::TempDir dir_;
  RealClock clock_;
  sys::RealFileSystem files_;
  const Paths paths_;
  pki::Authority ca_;
  FakeController controller_;
  FakeMachine node_;
  sys::RealProcessRunner processes_;
  muster::testing::FakeAccounts accounts_;
  std::unique_ptr<PermitRequests> reboots_;
  CountingFacts facts_;
  CurrentChannel channel_;
  absl::Mutex mutex_;
  std::string notes_;
  std::function<void(absl::string_view)> on_note_;  // to be set before the session starts
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Mailbox> mailbox_;
  std::optional<v1::FactsReport> told_early_;  // before there is a connection
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<CheckSupervisor> checks_;
  absl::Notification slurm_may_answer_;
  std::unique_ptr<SlurmRequests> slurm_;
  std::unique_ptr<CommandSupervisor> commands_;
  health::Trends trends_;
  health::GpuNames gpus_;
  health::RenewalTrouble renewal_;
  std::unique_ptr<health::HealthMonitor> health_;
  std::unique_ptr<ReadingWatch> readings_;
  std::unique_ptr<Session> session_;
  std::thread thread_;
};

// The number of reports of that check; 0 after none.
int CountReports(const FakeController& controller, const std::string& check_id) {
  int count = 0;
  for (const v1::AgentMessage& message : controller.received) {
    if (message.has_check_report() && message.check_report().check_id() == check_id) ++count;
  }
  return count;
}

TEST_F(SessionTest, MeasuresWhileTheControllerWantsIt) {
  Start();
  v1::ControllerMessage message;
  v1::WatchReadings& watch = *message.mutable_watch_readings();
  watch.mutable_interval()->set_seconds(1);
  watch.mutable_lease()->set_seconds(30);
  controller_.Send(message);
  const auto readings = [](const FakeController& controller) {
    return std::count_if(
        controller.received.begin(), controller.received.end(),
        [](const v1::AgentMessage& each) { return each.readings().memory_total_bytes() == 4711; });
  };
  EXPECT_TRUE(controller_.Await([&](auto& c) { return readings(c) >= 2; }));
}

TEST_F(SessionTest, RunsAChecksAndRepeatsItsReportUntilItIsStored) {
  ASSERT_OK(files_.WriteAtomically(
      dir_.path() + "/worker",
      "#!/bin/sh\necho '{\"progress\":{\"phase\":\"warm\",\"listening\":{\"port\":4711}}}'\n"
      "read peers\n"
      "echo \"{\\\"result\\\":{\\\"outcome\\\":\\\"OUTCOME_PASS\\\"}}\"\n",
      {.mode = 0755}));
  Start();
  v1::ControllerMessage message;
  v1::StartCheck& start = *message.mutable_start_check();
  start.set_check_id("v-1/a.0.0.0/c001");
  start.set_check("net-pair");
  start.set_ranks(2);
  start.set_pair_key("secret");
  start.mutable_time_limit()->set_seconds(60);
  controller_.Send(message);
  ASSERT_TRUE(controller_.Await([](auto& c) {
    for (const v1::AgentMessage& m : c.received) {
      if (m.check_update().progress().listening().port() == 4711) return true;
    }
    return false;
  }));
  // A plan has to wait for a decision.
  SendPlan(MakePlan(1, 1));
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.receipts.count("r-1/0") > 0; }));
  EXPECT_TRUE(controller_.Await([](auto& c) {
    const v1::PlanReceipt& receipt = c.receipts.at("r-1/0");
    return !receipt.accepted() && absl::StrContains(receipt.reason(), "net-pair");
  }));
  v1::ControllerMessage connect;
  connect.mutable_connect_peers()->set_check_id(start.check_id());
  connect.mutable_connect_peers()->add_peers()->set_address("127.0.0.1");
  controller_.Send(connect);
  const std::string id = start.check_id();
  ASSERT_TRUE(controller_.Await([&](auto& c) { return CountReports(c, id) == 1; }));
  controller_.Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "cable"));
  ASSERT_TRUE(controller_.Await([&](auto& c) { return CountReports(c, id) == 2; }));
  EXPECT_THAT(controller_.LastHello().check_ids(), ::testing::ElementsAre(id));
  v1::ControllerMessage stored;
  stored.mutable_check_report_stored()->set_check_id(id);
  controller_.Send(stored);
  controller_.Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "cable"));
  ASSERT_TRUE(controller_.Await([&](auto& c) { return c.hellos >= 3; }));
}

TEST_F(SessionTest, GreetsBeatsAndSendsFacts) {
  Start();
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.heartbeats >= 2 && c.facts >= 1; }));
  EXPECT_TRUE(controller_.Await([](auto& c) { return c.received.front().has_hello(); }));
  EXPECT_EQ(controller_.LastHello().boot_id(), "boot");
  EXPECT_EQ(controller_.LastHello().agent_version(), "0.1.0");
  v1::ControllerMessage gather;
  gather.mutable_gather_facts()->set_request_id("q7");
  controller_.Send(gather);
  gather.mutable_gather_facts()->set_request_id("q8");
  gather.mutable_gather_facts()->set_with_packages(true);
  controller_.Send(gather);
  for (const auto& [id, packages] : {std::pair("q7", 0), std::pair("q8", 1)}) {
    EXPECT_TRUE(controller_.Await([id = id, packages = packages](auto& c) {
      for (const auto& m : c.received) {
        if (m.has_facts() && m.facts().request_id() == id) {
          return m.facts().facts().os().id() == "debian" &&
                 m.facts().facts().packages().lines_size() == packages;
        }
      }
      return false;
    }));
  }
  EXPECT_THAT(session_->status_text(), HasSubstr("as c001"));
}

// After a reboot the engine may be through before the controller answers.
TEST_F(SessionTest, FactsFromBeforeTheWelcomeAreSentAfterIt) {
  told_early_.emplace().mutable_facts()->mutable_os()->set_id("early");
  Start();
  EXPECT_TRUE(controller_.Await([](auto& c) {
    for (const v1::AgentMessage& m : c.received)
      if (m.has_facts()) return m.facts().facts().os().id() == "early";
    return false;
  }));
}

// The controller cuts a node off that answers what this connection has not asked.
TEST_F(SessionTest, WhatAnEarlierConnectionAskedForIsNotAnswered) {
  absl::Notification gathering;
  absl::Notification go_on;
  facts_.before_packages = [&] {
    if (!gathering.HasBeenNotified()) gathering.Notify();
    go_on.WaitForNotification();
  };
  Start();
  v1::ControllerMessage gather;
  gather.mutable_gather_facts()->set_with_packages(true);
  for (const char* id : {"q1", "q2", "q3", "q4"}) {
    gather.mutable_gather_facts()->set_request_id(id);
    controller_.Send(gather);
  }
  // Its receipt tells that the questions before it have arrived.
  SendPlan(MakePlan(1, 1));
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.receipts.count("r-1/0") > 0; }));
  gathering.WaitForNotification();
  controller_.Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "cable"));
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.hellos == 2; }));
  go_on.Notify();
  // Facts are gathered one after the other: this is the look after those of the questions.
  gather.mutable_gather_facts()->set_request_id("q5");
  controller_.Send(gather);
  std::vector<std::string> answered;
  ASSERT_TRUE(controller_.Await([&](auto& c) {
    answered.clear();
    for (const v1::AgentMessage& m : c.received) {
      if (m.has_hello()) answered.clear();
      if (m.has_facts()) answered.push_back(m.facts().request_id());
    }
    return !answered.empty() && answered.back() == "q5";
  }));
  answered.erase(std::remove(answered.begin(), answered.end(), ""), answered.end());
  EXPECT_THAT(answered, ::testing::ElementsAre("q5"));
}

TEST_F(SessionTest, ReportsHealthToEachConnectionAndNamesTheReportInItsHeartbeats) {
  const auto is_reported = [](auto& c) {
    uint64_t sequence = 0;  // over this stream
    bool is_named = false;
    for (const v1::AgentMessage& m : c.received) {
      if (m.has_hello()) sequence = 0, is_named = false;
      for (const v1::Condition& condition : m.health().conditions())
        if (condition.name() == "disk_full") sequence = m.health().sequence();
      is_named = is_named || (sequence > 0 && m.heartbeat().health_sequence() == sequence &&
                              m.heartbeat().conditions_bad() == 1);
    }
    return is_named;
  };
  Start();
  ASSERT_TRUE(controller_.Await(is_reported));
  controller_.Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "cable"));
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.hellos == 2; }));
  ASSERT_TRUE(controller_.Await(is_reported));
  v1::ControllerMessage settings;
  settings.mutable_health_settings()->add_disabled("disk_full");
  settings.mutable_health_settings()->add_disabled("no_such");
  controller_.Send(settings);
  ASSERT_TRUE(controller_.Await([](auto& c) {
    for (auto m = c.received.rbegin(); m != c.received.rend(); ++m)
      if (m->has_health()) return m->health().conditions().empty();
    return false;
  }));
  EXPECT_THAT(notes(), HasSubstr("no_such"));
}

TEST_F(SessionTest, ReportsItsHealthWhenTheControllerAsks) {
  const auto reports = [](auto& c) {
    return std::count_if(c.received.begin(), c.received.end(),
                         [](const v1::AgentMessage& m) { return m.has_health(); });
  };
  const auto is_settled = [](auto& c) {
    for (const v1::AgentMessage& m : c.received)
      for (const v1::Condition& condition : m.health().conditions())
        if (condition.name() == "disk_full") return true;
    return false;
  };
  Start();
  ASSERT_TRUE(controller_.Await(is_settled));
  long before = 0;
  ASSERT_TRUE(controller_.Await([&](auto& c) { return (before = reports(c)) > 0; }));
  v1::ControllerMessage ask;
  ask.mutable_ask_health();
  controller_.Send(ask);
  // The same once more, although nothing has changed.
  ASSERT_TRUE(controller_.Await([&](auto& c) { return reports(c) > before && is_settled(c); }));
  EXPECT_EQ(notes().find("does not know"), std::string::npos);
}

TEST_F(SessionTest, RunsAPlanAndTellsEveryStepOnce) {
  Start();
  SendPlan(MakePlan(1, 20));
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  EXPECT_TRUE(controller_.receipts["r-1/0"].accepted());
  EXPECT_EQ(controller_.reports.size(), 21u);
  EXPECT_EQ(controller_.repeated_reports, 0);
  // The journal forgets the reports that the controller has.
  for (int i = 0; i < 6000 && !journal_->ReportsAfter(0, 1).empty(); ++i) {
    clock_.Sleep(absl::Milliseconds(10));
  }
  EXPECT_TRUE(journal_->ReportsAfter(0, 1).empty());
}

TEST_F(SessionTest, APlanThatChangesNothingReportsInOneMessage) {
  Start();
  SendPlan(MakePlan(1, 20));
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  v1::Plan again = MakePlan(1, 20);
  again.set_plan_id("r-2/0");
  again.set_sequence(2);
  SendPlan(again);
  int together = 0;
  ASSERT_TRUE(controller_.Await([&](auto& c) {
    const auto last = std::find_if(c.received.rbegin(), c.received.rend(),
                                   [](const auto& message) { return message.has_reports(); });
    if (last != c.received.rend()) together = last->reports().reports_size();
    return HasOutcome(c, "r-2/0");
  }));
  EXPECT_EQ(together, 21);
}

TEST_F(SessionTest, TellsWhyAPlanIsRefused) {
  Start();
  v1::Plan plan = MakePlan(1, 1);
  plan.set_node_uuid("somebody-else");
  SendPlan(plan);
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.receipts.count("r-1/0") > 0; }));
  EXPECT_FALSE(controller_.receipts["r-1/0"].accepted());
  EXPECT_THAT(controller_.receipts["r-1/0"].reason(), Said());
  EXPECT_EQ(node_.applies, 0);
}

TEST_F(SessionTest, SendsReportsAgainUntilTheyAreStored) {
  controller_.set_acknowledge(false);
  Start(/*in_flight=*/4);
  SendPlan(MakePlan(1, 6));
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.reports.size() == 4; }));
  clock_.Sleep(absl::Milliseconds(200));
  // No more than the limit, however long the controller does not store them.
  EXPECT_TRUE(controller_.Await([](auto& c) { return c.reports.size() == 4; }));
  controller_.set_acknowledge(true);
  controller_.Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "restart"));
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  EXPECT_EQ(controller_.hellos, 2);
  EXPECT_EQ(controller_.reports.size(), 7u);
  EXPECT_EQ(controller_.repeated_reports, 4);
}

TEST_F(SessionTest, ComesBackAfterTheControllerWasAway) {
  Start();
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.facts == 1; }));
  SendPlan(MakePlan(1, 3));
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  controller_.Shutdown();
  clock_.Sleep(absl::Milliseconds(300));
  controller_.Restart();
  EXPECT_TRUE(controller_.Await([](auto& c) { return c.hellos >= 2 && c.facts >= 2; }));
  EXPECT_EQ(controller_.LastHello().last_sequence(), 1u);
}

TEST_F(SessionTest, AWorkingPlanSurvivesTheLossOfItsConnection) {
  absl::Notification running;
  absl::Notification go_on;
  node_.during_apply["file[/1/1]"] = [&](ApplyObserver&) {
    running.Notify();
    go_on.WaitForNotification();
  };
  Start();
  SendPlan(MakePlan(1, 3));
  running.WaitForNotification();
  controller_.Shutdown();
  go_on.Notify();
  for (int i = 0; i < 6000 && !journal_->FindFinished("r-1/0").has_value(); ++i) {
    clock_.Sleep(absl::Milliseconds(10));
  }
  controller_.Restart();
  EXPECT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  EXPECT_EQ(controller_.reports.size(), 4u);
}

TEST_F(SessionTest, APlanThatIsOverIsAnsweredWithItsOutcome) {
  Start();
  const v1::Plan plan = MakePlan(1, 2);
  SendPlan(plan);
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  for (int i = 0; i < 6000 && !journal_->ReportsAfter(0, 1).empty(); ++i) {
    clock_.Sleep(absl::Milliseconds(10));
  }
  // As a controller that lost its store would.
  controller_.Await([](auto& c) {
    c.reports.clear();
    return true;
  });
  SendPlan(plan);
  EXPECT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  EXPECT_EQ(node_.applies, 2);
}

TEST_F(SessionTest, CancelReachesTheEngine) {
  absl::Notification running;
  absl::Notification go_on;
  node_.during_apply["file[/1/0]"] = [&](ApplyObserver&) {
    running.Notify();
    go_on.WaitForNotification();
  };
  Start();
  SendPlan(MakePlan(1, 3));
  running.WaitForNotification();
  v1::ControllerMessage cancel;
  cancel.mutable_cancel_plan()->set_plan_id("r-1/0");
  controller_.Send(cancel);
  for (int i = 0; i < 6000 && !journal_->IsCancelRequested("r-1/0"); ++i) {
    clock_.Sleep(absl::Milliseconds(10));
  }
  go_on.Notify();
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  EXPECT_EQ(node_.applies, 1);
}

TEST_F(SessionTest, RenewsItsCertificateAtHalfLifeAndConnectsWithIt) {
  controller_.on_renew = [this](const v1::RenewCertificateRequest& request,
                                v1::RenewCertificateResponse* response) {
    response->set_certificate_pem(Sign(request.csr_pem(), -absl::Minutes(1), absl::Hours(24)));
    response->set_ca_pem(ca_.certificate_pem);
    return grpc::Status::OK;
  };
  Join(-absl::Hours(20), absl::Hours(4));
  const std::string old_key = LoadIdentity(paths_, files_)->key_pem;
  Start();
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.hellos == 2; }));
  EXPECT_NE(LoadIdentity(paths_, files_)->key_pem, old_key);
  EXPECT_THAT(notes(), HasSubstr("certificate renewed"));
  EXPECT_TRUE(files_.Stat(paths_.Reserve())->has_value()) << "for the next one, on a full disk";
}

TEST_F(SessionTest, AProbeHearsWhyARenewalOfThisConnectionFailed) {
  absl::Notification go_on;
  controller_.on_renew = [&](const v1::RenewCertificateRequest&, v1::RenewCertificateResponse*) {
    go_on.WaitForNotification();
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the store is full");
  };
  Join(-absl::Hours(20), absl::Hours(4));
  renewal_.Set("of an earlier connection");
  Start();
  EXPECT_TRUE(controller_.Await([](auto& c) { return c.hellos == 1; }));
  EXPECT_EQ(renewal_.Get(), "");
  go_on.Notify();
  while (renewal_.Get().empty()) clock_.Sleep(absl::Milliseconds(10));
  EXPECT_THAT(renewal_.Get(), HasSubstr("the store is full"));
}

TEST_F(SessionTest, RenewsAFreshCertificateWithinSecondsWhenToldTo) {
  controller_.on_renew = [this](const v1::RenewCertificateRequest& request,
                                v1::RenewCertificateResponse* response) {
    response->set_certificate_pem(Sign(request.csr_pem(), -absl::Minutes(1), absl::Hours(24)));
    response->set_ca_pem(ca_.certificate_pem);
    return grpc::Status::OK;
  };
  controller_.tells_to_renew = true;
  Join(-absl::Minutes(1), absl::Hours(24));
  const std::string old_key = LoadIdentity(paths_, files_)->key_pem;
  Start();
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.hellos == 2; }));
  EXPECT_NE(LoadIdentity(paths_, files_)->key_pem, old_key);
}

TEST_F(SessionTest, WhoIsTurnedAwayHearsHowToComeBackAndMayJoinAgain) {
  controller_.Refuse({grpc::StatusCode::PERMISSION_DENIED, "this node was removed: sold"});
  bool may_join = false;
  on_note_ = [&](absl::string_view note) {
    if (absl::StrContains(note, "sold")) may_join = WasTurnedAway(paths_, files_).value();
  };
  Start();
  // The second greeting is welcomed.
  ASSERT_TRUE(controller_.Await([](FakeController& c) { return c.hellos > 0; }));
  Stop();
  EXPECT_TRUE(may_join);
  EXPECT_THAT(notes_, HasSubstr("removed: sold; to admit it again: `muster node bootstrap --ssh "
                                "c001`"));
  ASSERT_OK(MarkTurnedAway(paths_, files_));
  Join(-absl::Hours(1), absl::Hours(23));
  EXPECT_FALSE(WasTurnedAway(paths_, files_).value());
}

// A controller whose store was missing for a while has turned all nodes away.
TEST_F(SessionTest, WhoIsWelcomedAgainIsNotTurnedAwayAnyMore) {
  Join(-absl::Hours(1), absl::Hours(23));
  ASSERT_OK(MarkTurnedAway(paths_, files_));
  Start();
  ASSERT_TRUE(controller_.Await([](auto& c) { return c.facts == 1; }));
  EXPECT_FALSE(WasTurnedAway(paths_, files_).value());
}

TEST_F(SessionTest, RunsACommandAndSendsItsResult) {
  Start();
  v1::ControllerMessage message;
  message.mutable_start_command()->set_command_id("x-1");
  message.mutable_start_command()->add_argv("uptime");
  controller_.Send(message);
  EXPECT_TRUE(controller_.Await([](auto& c) {
    for (const v1::AgentMessage& m : c.received) {
      if (m.command_result().command_id() == "x-1") {
        return m.command_result().end().output() == "uptime";
      }
    }
    return false;
  }));
}

TEST_F(SessionTest, ASlowSlurmHoldsNothingUp) {
  Start();
  v1::ControllerMessage question;
  question.mutable_slurm_request()->set_request_id("q1");
  question.mutable_slurm_request()->mutable_list_nodes();
  controller_.Send(question);
  // Slurm takes its time; the session continues.
  SendPlan(MakePlan(1, 1));
  ASSERT_TRUE(controller_.Await([](auto& c) { return HasOutcome(c, "r-1/0"); }));
  slurm_may_answer_.Notify();
  ASSERT_TRUE(controller_.Await([](auto& c) {
    for (const v1::AgentMessage& message : c.received) {
      if (message.slurm_answer().request_id() == "q1") return true;
    }
    return false;
  }));
}

TEST_F(SessionTest, AnExpiredCertificateNamesTheRemedy) {
  Join(-absl::Hours(30), -absl::Hours(6));
  controller_.Shutdown();
  Start();
  for (int i = 0; i < 6000 && notes().empty(); ++i) clock_.Sleep(absl::Milliseconds(10));
  EXPECT_THAT(notes(), HasSubstr("certificate expired 6h"));
  EXPECT_THAT(notes(), HasSubstr("muster token create --nodes c001"));
}

}  // namespace
}  // namespace muster::agent
