// The texts that a node under an attacker's control, or the thief of its key, can send: every text
// of every message, over TLS to a whole controller with the shipped playbooks. None of them may add
// a line to slurm.conf, gres.conf or hosts, or influence anybody who looks at it: on a terminal, as
// JSON, as a page, in the log and the audit log.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/render/output.h"
#include "cli/render/run/failure_report.h"
#include "cli/render/run/run_report.h"
#include "cli/render/run/run_screen.h"
#include "cli/render/validation/validation_page.h"
#include "cli/render/validation/validation_report.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/sys/archive/archive.h"
#include "common/value/proto_value.h"
#include "common/wire/message_rules.h"
#include "controller/artifact/blob_store.h"
#include "controller/log.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"
#include "tests/fixtures/field_walk.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::FieldPath;
using ::muster::testing::TextFields;
using ::testing::HasSubstr;
using ::testing::Not;

// Everything nasty in one text.
constexpr char kPoison[] =
    "x\nHealthCheckProgram=/tmp/evil\r\nProlog=/tmp/evil\nNodeName=c003 \"q\" 'a' \\ "
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\xc2\x9b"
    "31m\xe2\x80\xae</pre><script>alert(1)</script>"
    "{{ 7 * 191 }}{% for x in range(9) %}";
// The part of it that an attacker who knows the rules can use: a line of text.
constexpr char kSlyPoison[] =
    "x Prolog=/tmp/evil \"q\" 'a' \\ </pre><script>alert(1)</script>{{ 7 * 191 }}{% raw %}";

// Beginnings that no line of slurm.conf, gres.conf or hosts may have, and text that no template may
// evaluate.
void ExpectClean(const std::string& file, const std::string& content) {
  ASSERT_NE(content, "") << file;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    for (const char* word : {"HealthCheckProgram", "Prolog=", "alert(1)", "evil", "1337"})
      EXPECT_FALSE(absl::StrContains(line, word)) << file << ": " << line;
  }
  EXPECT_TRUE(IsPlain(content, Lines::kMany)) << file;
}

// Each text in the answers to people is plain: then it is harmless on a terminal, in JSON and in
// the log, too.
void ExpectPlain(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
        const std::string text = field->is_repeated()
                                     ? reflection.GetRepeatedString(message, field, i)
                                     : reflection.GetString(message, field);
        EXPECT_TRUE(IsPlain(text, Lines::kMany)) << field->full_name() << ": " << text;
      } else if (field->message_type() != nullptr) {
        ExpectPlain(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                         : reflection.GetMessage(message, field));
      }
    }
  }
}

// Also the forms of the answer for programs.
void ExpectPlainAnswer(const google::protobuf::Message& message) {
  ExpectPlain(message);
  const std::string json = cli::Format(ProtoToValue(message), cli::OutputFormat::kJson);
  EXPECT_TRUE(nlohmann::json::accept(json));
  EXPECT_TRUE(IsPlain(json, Lines::kMany));
  EXPECT_TRUE(IsPlain(cli::Format(ProtoToValue(message), cli::OutputFormat::kYaml), Lines::kMany));
}

v1::Facts HonestFacts(int gpus) {
  v1::Facts facts;
  facts.mutable_os()->set_version_id("12");
  facts.mutable_os()->set_kernel("6.1.0-40-amd64");
  facts.mutable_os()->set_virtualization("none");
  facts.mutable_cpu()->set_cpus(64);
  facts.mutable_cpu()->set_boards(1);
  facts.mutable_cpu()->set_sockets(2);
  facts.mutable_cpu()->set_cores_per_socket(16);
  facts.mutable_cpu()->set_threads_per_core(2);
  facts.mutable_memory()->set_total_mib(192000);
  facts.mutable_cgroup()->set_version(2);
  facts.mutable_cgroup()->add_controllers("cpu");
  for (int i = 0; i < gpus; ++i) {
    v1::GpuFacts& gpu = *facts.add_gpus();
    gpu.set_uuid(absl::StrCat("GPU-", i));
    gpu.set_slurm_type("h100");
    gpu.set_device_path(absl::StrCat("/dev/nvidia", i));
  }
  return facts;
}

// A client with a node's certificate.
class Client {
 public:
  Client(const std::shared_ptr<grpc::Channel>& channel, v1::Facts facts)
      : stub_(v1::AgentSessionService::NewStub(channel)), facts_(std::move(facts)) {
    stream_ = stub_->Connect(&context_);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("boot");
    stream_->Write(hello);
    v1::AgentMessage unasked;
    *unasked.mutable_facts()->mutable_facts() = facts_;
    stream_->Write(unasked);
    heart_ = std::thread([this] {
      v1::AgentMessage beat;
      beat.mutable_heartbeat()->set_uptime_s(1);
      while (!ending_) {
        Say(beat);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
    });
    ears_ = std::thread([this] { Listen(); });
  }
  ~Client() { End(); }

  // How the controller ended the stream, or that we ended it.
  grpc::Status End() {
    if (!heart_.joinable()) return status_;
    ending_ = true;
    context_.TryCancel();
    heart_.join();
    ears_.join();
    status_ = stream_->Finish();
    return status_;
  }
  grpc::Status AwaitEnd() {
    ears_.join();
    ending_ = true;
    heart_.join();
    return status_ = stream_->Finish();
  }

  // The facts that it reports when it is asked from now on.
  void SetFacts(const v1::Facts& facts) {
    absl::MutexLock lock(&mutex_);
    facts_ = facts;
  }
  void Say(const v1::AgentMessage& message) {
    absl::MutexLock lock(&writing_);
    stream_->Write(message);
  }
  // The next plan or check that it gets.
  v1::ControllerMessage Next() {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [this] { return !received_.empty(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(60))) return {};
    v1::ControllerMessage message = received_.front();
    received_.pop_front();
    return message;
  }

 private:
  void Listen() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_gather_facts()) {
        v1::AgentMessage facts;
        facts.mutable_facts()->set_request_id(message.gather_facts().request_id());
        {
          absl::MutexLock lock(&mutex_);
          *facts.mutable_facts()->mutable_facts() = facts_;
        }
        Say(facts);
      } else if (message.has_slurm_request()) {
        Say(SlurmsAnswer(message.slurm_request()));
      } else if (message.has_plan() || message.has_start_check() || message.has_reboot_answer()) {
        absl::MutexLock lock(&mutex_);
        received_.push_back(message);
      }
    }
  }
  static v1::AgentMessage SlurmsAnswer(const v1::SlurmRequest& request) {
    v1::AgentMessage message;
    v1::SlurmAnswer& answer = *message.mutable_slurm_answer();
    answer.set_request_id(request.request_id());
    if (request.has_list_nodes()) {
      for (const char* name : {"c001", "c002", "c003"}) {
        v1::SlurmNode& node = *answer.mutable_nodes()->add_nodes();
        node.set_name(name);
        node.set_state(kPoison);
        node.set_is_drained(true);
        node.set_is_held(true);
        node.set_reason(kPoison);
        node.set_reason_user(kPoison);
      }
    } else if (request.has_list_jobs()) {
      v1::SlurmNodeJobs& node = *answer.mutable_jobs()->add_nodes();
      node.set_node("c003");
      v1::SlurmJobInfo& job = *node.add_jobs();
      job.set_id(kPoison);
      job.set_user(kPoison);
      job.set_name(kPoison);
    } else {
      answer.mutable_changed();
    }
    return message;
  }

  std::unique_ptr<v1::AgentSessionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
  absl::Mutex writing_;
  absl::Mutex mutex_;
  v1::Facts facts_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::ControllerMessage> received_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  grpc::Status status_;
  std::thread heart_;
  std::thread ears_;
};

class HostileWordTest : public ControllerFixture {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(HardenTls().ok());
    unsetenv("JOURNAL_STREAM");
    StartLog();  // to standard error, which the tests examine
  }

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    config_.slurm_gate = "on";
    StoreInventory(
        "cluster: test\nnodes:\n  login1: {role: login, address: 10.0.0.1}\n"
        "  \"c[001-003]\": {role: compute}\n",
        2);
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
        for (const char* name : {"login1", "c001", "c002", "c003"}) {
          NodeRecord node;
          node.uuid = uuids_[name] = NewUuid();
          node.name = name;
          node.state = NodeRecord::kConfigured;
          RETURN_IF_ERROR(txn.nodes().Put(node));
          if (node.name == "c001" || node.name == "c003") {
            RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, HonestFacts(2).SerializeAsString()));
          }
        }
        return absl::OkStatus();
      }));
    }
    Start();
  }

  std::unique_ptr<Client> As(const std::string& node, v1::Facts facts) {
    return std::make_unique<Client>(
        Connect(controller_->port(), Issue(Role::kNode, uuids_.at(node))), std::move(facts));
  }
  std::shared_ptr<grpc::Channel> Admin() {
    return Connect(controller_->port(), Issue(Role::kAdmin, "alice"));
  }

  // Asks the node for its facts; "" or why that failed. Its stream is accepted a moment after it
  // began.
  std::string Refresh(v1::NodeService::Stub& stub, v1::Facts* facts = nullptr) {
    std::string why = RefreshNow(stub, facts);
    for (int i = 0; i < 200 && absl::StrContains(why, "not connected"); ++i) {
      absl::SleepFor(absl::Milliseconds(50));
      why = RefreshNow(stub, facts);
    }
    return why;
  }
  static std::string RefreshNow(v1::NodeService::Stub& stub, v1::Facts* facts) {
    grpc::ClientContext context;
    v1::GetNodeFactsRequest request;
    request.set_name("c002");
    request.set_refresh(true);
    v1::GetNodeFactsResponse response;
    const grpc::Status status = stub.GetNodeFacts(&context, request, &response);
    if (facts != nullptr) *facts = response.facts();
    return status.ok() ? "" : status.error_message();
  }
  v1::Node Show(v1::NodeService::Stub& stub, const std::string& name) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    EXPECT_TRUE(stub.GetNode(&context, request, &response).ok());
    ExpectPlainAnswer(response);
    return response.node();
  }

  // Also a suite that needs no hardware.
  std::string KeepSite() {
    std::map<std::string, std::string> site;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      site[entry.path().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    site["playbooks/suites/count.yaml"] =
        "name: count\ndescription: what is there\nadmits: true\nstages:\n"
        "  - {name: first, checks: [{check: gpu-inventory, time_limit: 60s}]}\n";
    const std::string bundle = sys::PackTarGz(site).value();
    return DiskBlobStore::Open(config_.state_directory + "/blobs").value()->Put(bundle).value();
  }

  std::string StartRun(v1::RunService::Stub& stub, const std::string& bundle,
                       const std::string& limit) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("playbooks/site.yaml");
    request.set_limit(limit);
    request.set_skip_validation(true);
    v1::CreateRunResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub.CreateRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().run_id();
  }

  static std::string ContentOf(const v1::Plan& plan, const std::string& path) {
    for (const v1::RolePlan& role : plan.roles()) {
      for (const v1::Step& step : role.steps()) {
        if (step.file().path() == path) return step.file().content();
      }
    }
    return "";
  }
  static void Accept(Client& client, const v1::Plan& plan) {
    v1::AgentMessage receipt;
    receipt.mutable_plan_receipt()->set_plan_id(plan.plan_id());
    receipt.mutable_plan_receipt()->set_accepted(true);
    client.Say(receipt);
  }
  static void ComeThrough(Client& client, const v1::Plan& plan) {
    Accept(client, plan);
    v1::AgentMessage end;
    end.mutable_report()->set_report_sequence(1);
    end.mutable_report()->set_plan_id(plan.plan_id());
    end.mutable_report()->mutable_outcome()->set_succeeded(true);
    client.Say(end);
  }

  void ExpectPlainAuditLog() {
    grpc::ClientContext context;
    v1::ListEventsRequest request;
    request.set_limit(500);
    v1::ListEventsResponse response;
    ASSERT_TRUE(v1::EventService::NewStub(Admin())->ListEvents(&context, request, &response).ok());
    for (const v1::Event& event : response.events()) {
      for (const std::string& text : {event.actor(), event.subject(), event.detail()})
        EXPECT_TRUE(IsPlain(text, Lines::kOne)) << text;
    }
    ExpectPlainAnswer(response);
  }

  std::map<std::string, std::string> uuids_;
};

// The attack as it was seen: after one apply slurm.conf held lines that a client with c002's
// certificate had put into the type of a GPU, and gres.conf a line for c003.
TEST_F(HostileWordTest, ATypeOfAGpuCannotAddLinesToSlurmConf) {
  const auto stub = v1::NodeService::NewStub(Admin());
  const auto login = As("login1", HonestFacts(0));
  const auto client = As("c002", HonestFacts(2));
  ASSERT_EQ(Refresh(*stub), "");
  v1::Facts facts = HonestFacts(2);
  facts.mutable_gpus(0)->set_slurm_type("h100\nHealthCheckProgram=/tmp/evil\nProlog=/tmp/evil\n#");
  facts.mutable_gpus(1)->set_device_path("/dev/nvidia1\nNodeName=c003 Name=gpu File=/tmp/evil");
  client->SetFacts(facts);
  EXPECT_THAT(Refresh(*stub), HasSubstr("c002: the facts that the node sent are refused: "
                                        "gpus[0].slurm_type: not only letters, digits"));

  const auto runs = v1::RunService::NewStub(Admin());
  const std::string run_id = StartRun(*runs, KeepSite(), "login1,c002");
  const v1::Plan plan = login->Next().plan();
  const std::string conf = ContentOf(plan, "/etc/slurm/slurm.conf");
  ExpectClean("slurm.conf", conf);
  // c002 is there as in its last valid report.
  EXPECT_THAT(conf, HasSubstr("NodeName=c[001-003] CPUs=64 Boards=1 Sockets=2"));
  ExpectClean("gres.conf", ContentOf(plan, "/etc/slurm/gres.conf"));
  ExpectClean("hosts", ContentOf(plan, "/etc/hosts"));

  // Whoever waits for the facts learns of it: the run fails the node with the field's name.
  ComeThrough(*login, plan);
  grpc::ClientContext context;
  v1::WatchRunRequest watch;
  watch.set_run_id(run_id);
  const auto events = runs->WatchRun(&context, watch);
  v1::RunEvent event;
  while (events->Read(&event) && !event.has_run_finished()) {
  }
  std::string message;
  for (const v1::NodeRecap& node : event.run_finished().nodes())
    if (node.node() == "c002") message = node.message();
  EXPECT_THAT(message, HasSubstr("gpus[0].slurm_type"));
  context.TryCancel();

  // It is shown, also by a restarted controller, until the next valid report.
  EXPECT_THAT(Show(*stub, "c002").facts_refused(), HasSubstr("gpus[0].slurm_type"));
  login->End();
  client->End();
  controller_.reset();
  Start();
  const auto after = v1::NodeService::NewStub(Admin());
  EXPECT_THAT(Show(*after, "c002").facts_refused(), HasSubstr("gpus[0].slurm_type"));
  grpc::ClientContext status_context;
  v1::GetStatusResponse status;
  ASSERT_TRUE(after->GetStatus(&status_context, {}, &status).ok());
  ASSERT_EQ(status.facts_refused_size(), 1);
  EXPECT_THAT(status.facts_refused(0), HasSubstr("c002: "));
  const auto mended = As("c002", HonestFacts(2));
  EXPECT_EQ(Refresh(*after), "");
  EXPECT_EQ(Show(*after, "c002").facts_refused(), "");
  ExpectPlainAuditLog();
}

// Every text of the facts, one after the other.
TEST_F(HostileWordTest, NoTextOfFactsReachesAFileOrAScreenUnchecked) {
  const auto stub = v1::NodeService::NewStub(Admin());
  const auto login = As("login1", HonestFacts(0));
  const auto client = As("c002", HonestFacts(2));
  ASSERT_EQ(Refresh(*stub), "");
  v1::Facts sly = HonestFacts(2);
  int refused = 0;
  for (const FieldPath& path : TextFields(*v1::Facts::descriptor())) {
    SCOPED_TRACE(path.name());
    for (const std::string& poison :
         {std::string(kPoison), std::string(1 << 18, 'x'), std::string(3000, '\n')}) {
      v1::Facts facts = HonestFacts(2);
      path.SetText(facts, poison);
      client->SetFacts(facts);
      EXPECT_THAT(Refresh(*stub), HasSubstr("refused"));
      ++refused;
    }
    // Accepted texts are kept for the end.
    v1::Facts facts = HonestFacts(2);
    path.SetText(facts, kSlyPoison);
    if (wire::Check(facts).ok()) path.SetText(sly, kSlyPoison);
  }
  EXPECT_GT(refused, 100);
  client->SetFacts(sly);
  v1::Facts known;
  ASSERT_EQ(Refresh(*stub, &known), "");
  EXPECT_EQ(known.gpus(0).name(), kSlyPoison);  // free text stays unchanged
  ExpectPlainAnswer(known);
  StartRun(*v1::RunService::NewStub(Admin()), KeepSite(), "login1");
  const v1::Plan plan = login->Next().plan();
  for (const char* file : {"/etc/slurm/slurm.conf", "/etc/slurm/gres.conf", "/etc/hosts"})
    ExpectClean(file, ContentOf(plan, file));
  ExpectPlainAuditLog();
}

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
      if (!is_free || path.name() == "report.outcome.message") continue;  // the end comes below
      for (const std::string& poison : {std::string(kPoison), std::string(1 << 20, 'x')}) {
        v1::AgentMessage message = honest();
        path.SetText(message, poison);
        client->Say(message);
      }
    }
  };
  say_poisoned(*v1::Report::descriptor(), [&] {
    v1::AgentMessage message;
    message.mutable_report()->set_report_sequence(++sequence);
    message.mutable_report()->set_plan_id(plan.plan_id());
    message.mutable_report()->mutable_step()->set_step_id(absl::StrCat("s", sequence));
    message.mutable_report()->mutable_step()->set_status(v1::STEP_STATUS_FAILED);
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
  end.mutable_report()->set_report_sequence(++sequence);
  end.mutable_report()->set_plan_id(plan.plan_id());
  end.mutable_report()->mutable_outcome()->set_message(kPoison);
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
    const auto client = As("c002", HonestFacts(2));
    client->Say(message);
    const grpc::Status status = client->AwaitEnd();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
    // By the field's rule: some of these messages would be cut off as unasked for, too.
    EXPECT_THAT(status.error_message(), HasSubstr(absl::StrCat(path.field().name(), ": ")));
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
