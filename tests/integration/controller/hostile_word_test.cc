// The texts that a node under an attacker's control, or the thief of its key, can send in every
// other message than its facts (hostile_facts_test.cc), over TLS to a whole controller. None of
// them may influence anybody who looks at it: on a terminal, as JSON, as a page, in the log and the
// audit log.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/render/run/failure_report.h"
#include "cli/render/run/run_report.h"
#include "cli/render/run/run_screen.h"
#include "cli/render/validation/validation_page.h"
#include "cli/render/validation/validation_report.h"
#include "common/wire/message_rules.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"
#include "tests/fixtures/field_walk.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/integration/controller/hostile_word_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FieldPath;
using ::muster::testing::Said;
using ::muster::testing::TextFields;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Results of steps, progress, questions about reboots, checks and their results, Slurm's answers.
TEST_F(HostileWordTest, NoTextOfAReportReachesAScreenUncleaned) {
  ::testing::internal::CaptureStderr();
  const auto stub = v1::NodeService::NewStub(Admin());
  const auto login = As("login1", HonestFacts(0));
  auto client = As("c002", HonestFacts(2));
  ASSERT_EQ(Refresh(*stub), "");
  const std::string bundle = KeepSite();
  const auto runs = v1::RunService::NewStub(Admin());
  const std::string run_id = StartRun(*runs, bundle, "login1,c002");
  grpc::ClientContext watching;
  v1::WatchRunRequest watch;
  watch.set_run_id(run_id);
  const auto events = runs->WatchRun(&watching, watch);
  ComeThrough(*login, login->Next().plan());
  const v1::Plan plan = client->Next().plan();
  Accept(*client, plan);

  uint64_t sequence = 0;
  const auto say_poisoned = [&](const google::protobuf::Descriptor& kind,
                                const std::function<v1::AgentMessage()>& honest) {
    for (const FieldPath& path : TextFields(*v1::AgentMessage::descriptor())) {
      if (path.steps[0]->message_type() != &kind) continue;
      const wire::FieldRule& rule = *wire::RuleOf(path.field());
      const bool is_free =
          rule.letters == wire::Letters::kText || rule.letters == wire::Letters::kLine;
      if (!is_free || path.name() == "reports.reports.outcome.message")
        continue;  // the end comes below
      for (const std::string& poison : {std::string(kPoison), std::string(1 << 20, 'x')}) {
        v1::AgentMessage message = honest();
        path.SetText(message, poison);
        client->Say(message);
      }
    }
  };
  say_poisoned(*v1::Reports::descriptor(), [&] {
    v1::AgentMessage message;
    v1::Report& report = *message.mutable_reports()->add_reports();
    report.set_report_sequence(++sequence);
    report.set_plan_id(plan.plan_id());
    report.mutable_step()->set_step_id(absl::StrCat("s", sequence));
    report.mutable_step()->set_status(v1::STEP_STATUS_FAILED);
    report.mutable_step()->mutable_reboot_pending()->set_boot_id("boot");
    report.mutable_step()->mutable_reboot_pending()->set_reason("a kernel");
    return message;
  });
  say_poisoned(*v1::StepProgress::descriptor(), [&] {
    v1::AgentMessage message;
    message.mutable_progress()->set_plan_id(plan.plan_id());
    message.mutable_progress()->set_step_id("s");
    return message;
  });
  say_poisoned(*v1::RebootRequest::descriptor(), [&] {
    v1::AgentMessage message;
    v1::RebootRequest& request = *message.mutable_reboot_request();
    request.set_plan_id(plan.plan_id());
    request.set_step_id("s");
    request.set_boot_id("boot");
    request.set_request_id(NewUuid());
    return message;
  });
  v1::AgentMessage end;
  v1::Report& last = *end.mutable_reports()->add_reports();
  last.set_report_sequence(++sequence);
  last.set_plan_id(plan.plan_id());
  last.mutable_outcome()->set_message(kPoison);
  client->Say(end);

  v1::GetRunRequest get;
  get.set_run_id(run_id);
  v1::GetRunResponse got;
  grpc::ClientContext getting;
  ASSERT_TRUE(runs->GetRun(&getting, get, &got).ok());
  cli::RunView view(got.run(), absl::Now());
  cli::FailureReport failures(0);
  v1::RunEvent event;
  int steps = 0;
  while (events->Read(&event)) {
    ExpectPlainAnswer(event);
    view.Apply(event, absl::Now());
    const std::string line = cli::RenderEventLine(
        event, {.quiet_steps = true, .values = true, .output = true, .failure_told = false});
    EXPECT_TRUE(IsPlain(line, Lines::kMany)) << line;
    for (const std::string& row : cli::RenderScreen(view, {}, absl::Now()))
      EXPECT_TRUE(IsPlain(row, Lines::kOne)) << row;
    if (event.has_step()) {
      v1::NodeStepResult step;
      *step.mutable_result() = event.step();
      failures.Add(step);
      ++steps;
    }
    if (event.has_run_finished()) break;
  }
  EXPECT_GT(steps, 10);
  watching.TryCancel();
  EXPECT_TRUE(IsPlain(failures.Render(), Lines::kMany));
  EXPECT_TRUE(IsPlain(cli::RenderRecap(view, absl::Now()), Lines::kMany));
  v1::ListStepResultsRequest list;
  list.set_run_id(run_id);
  v1::ListStepResultsResponse listed;
  grpc::ClientContext listing;
  ASSERT_TRUE(runs->ListStepResults(&listing, list, &listed).ok());
  EXPECT_GT(listed.results_size(), 10);
  ExpectPlainAnswer(listed);

  // Checks.
  const auto validations = v1::ValidationService::NewStub(Admin());
  v1::CreateValidationRequest create;
  create.set_bundle_sha256(bundle);
  create.set_suite("count");
  create.set_nodes("c002");
  create.set_force(true);
  v1::CreateValidationResponse created;
  grpc::ClientContext creating;
  const grpc::Status status = validations->CreateValidation(&creating, create, &created);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::ControllerMessage start = client->Next();
  while (start.has_reboot_answer()) start = client->Next();
  const std::string check_id = start.start_check().check_id();
  ASSERT_NE(check_id, "");
  say_poisoned(*v1::CheckUpdate::descriptor(), [&] {
    v1::AgentMessage message;
    message.mutable_check_update()->set_check_id(check_id);
    return message;
  });
  v1::AgentMessage report;
  for (const FieldPath& path : TextFields(*v1::AgentMessage::descriptor())) {
    if (path.steps[0]->message_type() == v1::CheckReport::descriptor())
      path.SetText(report, kPoison);
  }
  report.mutable_check_report()->set_check_id(check_id);
  v1::CheckResult& result = *report.mutable_check_report()->mutable_result();
  result.set_check("gpu-inventory");
  result.set_outcome(v1::OUTCOME_FAIL);
  client->Say(report);
  grpc::ClientContext watching_checks;
  v1::WatchValidationRequest watch_checks;
  watch_checks.set_validation_id(created.validation().validation_id());
  const auto verdicts = validations->WatchValidation(&watching_checks, watch_checks);
  v1::ValidationEvent verdict;
  while (verdicts->Read(&verdict) && !verdict.has_finished()) ExpectPlainAnswer(verdict);
  watching_checks.TryCancel();
  const v1::Validation& finished = verdict.finished();
  ExpectPlainAnswer(finished);
  EXPECT_TRUE(IsPlain(cli::RenderValidation(finished, absl::Now()), Lines::kMany));
  v1::ListCheckResultsRequest ask;
  ask.set_validation_id(finished.validation_id());
  ask.set_with_samples(true);
  grpc::ClientContext reading;
  const auto stream = validations->ListCheckResults(&reading, ask);
  std::vector<v1::NodeCheckResult> results(1);
  while (stream->Read(&results.back())) {
    ExpectPlainAnswer(results.back());
    results.emplace_back();
  }
  results.pop_back();
  ASSERT_EQ(results.size(), 1u);
  const std::string page = cli::RenderValidationPage(finished, results, absl::UTCTimeZone());
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_TRUE(IsPlain(page, Lines::kMany));

  // Slurm, by its node.
  std::string service;
  for (int i = 0; i < 200 && service.empty(); ++i) {
    service = Show(*stub, "c001").service();
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_THAT(service, HasSubstr("drained by x"));
  grpc::ClientContext asking_for_jobs;
  v1::ListNodeJobsRequest of_node;
  of_node.set_nodes("c003");
  v1::ListNodeJobsResponse jobs;
  ASSERT_TRUE(stub->ListNodeJobs(&asking_for_jobs, of_node, &jobs).ok());
  ASSERT_EQ(jobs.nodes_size(), 1) << jobs.unknown();
  ExpectPlainAnswer(jobs);
  ExpectPlainAuditLog();
  login->End();
  client->End();
  controller_.reset();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("connected"));
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    EXPECT_TRUE(IsPlain(line, Lines::kMany)) << line;
    EXPECT_FALSE(absl::StartsWith(line, "HealthCheckProgram")) << line;
  }
}

// Values that no honest agent sends, because they are the controller's own: ids and addresses.
TEST_F(HostileWordTest, WhatIsNoIdCutsOff) {
  ::testing::internal::CaptureStderr();
  int cut_off = 0;
  for (const FieldPath& path : TextFields(*v1::AgentMessage::descriptor())) {
    const wire::FieldRule& rule = *wire::RuleOf(path.field());
    if (rule.letters == wire::Letters::kText || rule.letters == wire::Letters::kLine) continue;
    if (absl::StartsWith(path.name(), "facts.facts.") || absl::StartsWith(path.name(), "hello."))
      continue;
    SCOPED_TRACE(path.name());
    v1::AgentMessage message;
    path.SetText(message, kPoison);
    if (message.has_facts()) message.mutable_facts()->mutable_facts()->mutable_os();
    if (path.name().find(".step.") != std::string::npos) {
      v1::StepResult& step = *message.mutable_reports()->mutable_reports(0)->mutable_step();
      step.set_status(v1::STEP_STATUS_FAILED);  // without one it is cut off for that
    }
    const auto client = As("c002", HonestFacts(2));
    client->Say(message);
    const grpc::Status status = client->AwaitEnd();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
    // By the field's rule: some of these messages would be cut off as unasked for, too.
    const absl::string_view element = path.field().is_repeated() ? "[0]: " : ": ";
    EXPECT_THAT(status.error_message(),
                AllOf(Said(), HasSubstr(absl::StrCat(path.field().name(), element))));
    EXPECT_TRUE(IsPlain(status.error_message(), Lines::kOne));
    ++cut_off;
  }
  EXPECT_GE(cut_off, 8);
  ExpectPlainAuditLog();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("is cut off: "));
  EXPECT_THAT(log, Not(HasSubstr("evil")));
}

}  // namespace
}  // namespace muster::controller
