#include "tests/unit/controller/run/run_fixture.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/value/folded_value.h"
#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/run/run_records.h"
#include "controller/store/soci/store.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {

struct Playbook {
  std::vector<std::pair<std::string, std::vector<std::string>>> plays;
  std::vector<PlaybookEnding> endings;
};

absl::StatusOr<std::shared_ptr<const Playbook>> FakeCompiler::Load(const FileTree& site,
                                                                   absl::string_view path) {
  const auto file = site.find(std::string(path));
  if (file == site.end()) return absl::NotFoundError(absl::StrCat(path, " is not in the bundle"));
  auto playbook = std::make_shared<Playbook>();
  for (const auto line : absl::StrSplit(file->second, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, ": ");
    if (absl::StartsWith(line, ">")) {
      playbook->endings.push_back({"play of " + parts.first.substr(1), parts.first.substr(1),
                                   absl::StrSplit(parts.second, ' ')});
      continue;
    }
    playbook->plays.emplace_back(parts.first, absl::StrSplit(parts.second, ' '));
  }
  return playbook;
}

std::vector<std::string> FakeCompiler::Plays(const Playbook& playbook) {
  std::vector<std::string> names;
  for (const auto& [name, nodes] : playbook.plays) names.push_back(name);
  return names;
}

absl::StatusOr<std::vector<PlaybookEnding>> FakeCompiler::SelectEndings(
    const Playbook& playbook, const Inventory&, absl::string_view,
    const std::vector<std::string>&) {
  return playbook.endings;
}

absl::StatusOr<std::vector<std::string>> FakeCompiler::SelectNodes(const Playbook& playbook,
                                                                   size_t play_index,
                                                                   const Inventory&,
                                                                   absl::string_view limit) {
  std::vector<std::string> nodes = playbook.plays[play_index].second;
  if (limit.empty()) return nodes;
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, ExpandHostlist(limit));
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const std::string& node) {
                               return std::find(wanted.begin(), wanted.end(), node) == wanted.end();
                             }),
              nodes.end());
  return nodes;
}

void FakeCompiler::Compile(const Playbook&, size_t, const Inventory&, const FactsByNode& facts,
                           const std::vector<std::string>& nodes, const CompileOptions&,
                           SecretSource&, size_t batch,
                           absl::FunctionRef<bool(std::vector<NodePlan>)> take) {
  for (size_t begin = 0; begin < nodes.size(); begin += batch) {
    std::vector<NodePlan> plans;
    for (size_t i = begin; i < std::min(nodes.size(), begin + batch); ++i)
      plans.push_back(CompileOne(nodes[i], facts));
    if (!take(std::move(plans))) return;
  }
}

NodePlan FakeCompiler::CompileOne(const std::string& name, const FactsByNode& facts) {
  NodePlan compiled;
  compiled.node = name;
  if (const auto error = errors.find(name); error != errors.end()) {
    compiled.error = error->second;
    return compiled;
  }
  compiled.plan = std::make_unique<v1::Plan>();
  v1::RolePlan& role = *compiled.plan->add_roles();
  role.set_name("role");
  v1::Step& step = *role.add_steps();
  step.set_step_id("role/step");
  const auto own = facts.find(name);
  step.mutable_hostname()->set_name(
      own == facts.end() ? "unknown" : UnfoldAll(own->second)["os"]["hostname"].get<std::string>());
  if (blob_bytes > 0) {
    v1::Step& file = *role.add_steps();
    file.set_step_id("role/file");
    file.mutable_file()->set_content(std::string(blob_bytes, 'b'));
  }
  if (reboot.has_value()) {
    v1::Step& last = *role.add_steps();
    last.set_step_id("role/reboot");
    *last.mutable_reboot() = *reboot;
  }
  return compiled;
}

std::shared_ptr<const v1::Reports> InOneMessage(const v1::Report& report) {
  auto reports = std::make_shared<v1::Reports>();
  *reports->add_reports() = report;
  return reports;
}

void RunFixture::SetUp() {
  store_ = *OpenStore(":memory:");
  UseInventory("nodes: {a: {role: compute}, b: {role: compute}, c: {role: compute}}\n");
  for (const char* name : {"a", "b", "c"}) Enroll(name);
  site_["two.yaml"] = "first: a b\nsecond: a b c\n";
  site_["one.yaml"] = "only: a b\n";
  Restart();
}

absl::StatusOr<InventoryVersion> RunFixture::Latest() { return InventoryVersion{7, inventory_}; }

void RunFixture::UseInventory(const std::string& yaml) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml", absl::StrCat("cluster: test\n", yaml)}}).value());
}

absl::StatusOr<std::shared_ptr<const Inventory>> RunFixture::Get(uint64_t revision) {
  if (revision != 7) return absl::NotFoundError("no such revision");
  // The fake compiler never looks at it.
  return std::shared_ptr<const Inventory>(std::shared_ptr<const Inventory>(),
                                          reinterpret_cast<const Inventory*>(this));
}

RunCollaborators RunFixture::Collaborators() {
  return {
      .store = *store_,
      .sessions = sessions_,
      .compiler = compiler_,
      .inventory = *this,
      .secrets = secrets_,
      .clock = clock_,
      .load_bundle = [this](const std::string& sha256) -> absl::StatusOr<FileTree> {
        if (sha256 == "site") return site_;
        if (const auto plan = plans_.find(sha256); plan != plans_.end()) return plan->second;
        return absl::NotFoundError(absl::StrCat("no bundle ", sha256));
      },
      .put_blob =
          [this](const std::string& sha256, const std::string& content) {
            blobs_[sha256] = content;
            return absl::OkStatus();
          },
      .claims = claims_.get(),
      .check_ending =
          [this](const FileTree&, const PlaybookEnding& ending, std::shared_ptr<const Inventory>) {
            const auto error = suite_errors_.find(ending.suite);
            return error == suite_errors_.end() ? absl::OkStatus() : error->second;
          },
      .on_ended =
          [this](const std::string& run_id) {
            ended_.push_back(run_id);
            free_when_ended_ =
                claims_->Claim({"other", "", "", clock_.Now()}, {"a", "b", "c"}).ok();
            claims_->Release("other");
          },
      .may_catch_up =
          [this](const RunMandate& mandate) {
            const auto error = mandate_errors_.find(mandate.actor);
            return error == mandate_errors_.end() ? absl::OkStatus() : error->second;
          },
      .approvals = approvals_.get(),
      .drains = drains_,
      .order_image =
          [this](const std::string& order_id, const std::string& node, const std::string& image,
                 const Actor& actor, absl::FunctionRef<absl::Status(Transaction&)> also) {
            if (!image_refusal_.ok()) return image_refusal_;
            const absl::Status stored = store_->Update(also);
            if (!stored.ok()) return stored;
            ordered_.push_back(absl::StrCat(node, " ", image, " ", actor.name));
            orders_[node] = order_id;
            return absl::OkStatus();
          },
      .take_back_image =
          [this](const std::string& order_id, const std::string& node) {
            const auto order = orders_.find(node);
            if (order == orders_.end() || order->second != order_id) return absl::OkStatus();
            if (take_back_refusal_.ok()) orders_.erase(order);
            return take_back_refusal_;
          }};
}

void RunFixture::Restart() {
  engine_.reset();
  claims_ = std::make_unique<NodeClaims>();
  engine_ = std::make_unique<RunEngine>(Collaborators());
  ASSERT_OK(engine_->Resume());
}

void RunFixture::Enroll(const std::string& name) {
  NodeRecord node;
  node.uuid = "u" + name;
  node.name = name;
  node.state = NodeRecord::kEnrolled;
  v1::Facts facts;
  facts.mutable_os()->set_hostname("host-" + name);
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put(node));
    return txn.nodes().PutFacts(node.uuid, facts.SerializeAsString());
  }));
}

void RunFixture::Connect(const std::string& name, const std::string& active_plan_id,
                         const std::string& boot_id) {
  sessions_.Connect("u" + name);
  v1::Hello hello;
  hello.set_active_plan_id(active_plan_id);
  hello.set_boot_id(boot_id);
  engine_->OnConnected("u" + name, hello);
}

void RunFixture::Cut(const std::string& name) {
  sessions_.Cut("u" + name);
  engine_->OnDisconnected("u" + name);
}

void RunFixture::AnswerFacts(const std::string& run_id, uint32_t play) {
  for (const char* name : {"a", "b", "c"}) {
    engine_->OnFacts(absl::StrCat("u", name), absl::StrCat(run_id, "/", play));
  }
}

std::vector<std::string> RunFixture::AskedForFacts() {
  std::vector<std::string> asked;
  for (const char* name : {"a", "b", "c"}) {
    if (!sessions_.TakeFactsRequests(absl::StrCat("u", name)).empty()) asked.push_back(name);
  }
  return asked;
}

void RunFixture::Pass(absl::Duration duration) {
  for (absl::Duration passed; passed < duration; passed += absl::Seconds(1)) {
    clock_.Advance(absl::Seconds(1));
    engine_->Tick();
  }
}

v1::Run RunFixture::MustCreate(const std::string& playbook, const std::string& limit,
                               bool check_only) {
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook(playbook);
  request.set_limit(limit);
  request.set_check_only(check_only);
  absl::StatusOr<v1::Run> run = engine_->Create(
      request, {{"admin:alice", "10.0.0.1:1"}, {"admin:alice", "5e", absl::InfiniteFuture()}});
  EXPECT_OK(run);
  if (!run.ok()) return {};
  AnswerFacts(run->run_id(), 0);
  return *run;
}

v1::Plan RunFixture::MustTakePlan(const std::string& name) {
  for (const v1::ControllerMessage& message : sessions_.Take("u" + name)) {
    if (message.has_plan()) return message.plan();
  }
  ADD_FAILURE() << "no plan was sent to " << name;
  return {};
}

bool RunFixture::TookCancel(const std::string& name) {
  const auto messages = sessions_.Take("u" + name);
  return std::any_of(messages.begin(), messages.end(),
                     [](const auto& message) { return message.has_cancel_plan(); });
}

void RunFixture::ReportStep(const std::string& name, const std::string& plan_id,
                            v1::StepStatus status, const std::string& step_id) {
  v1::Report report;
  report.set_report_sequence(++report_sequence_[name]);
  report.set_plan_id(plan_id);
  v1::StepResult& step = *report.mutable_step();
  step.set_step_id(step_id);
  step.set_status(status);
  step.set_role("role");
  step.set_name("step");
  if (status == v1::STEP_STATUS_FAILED) step.set_message("E: no such package");
  engine_->OnReports({{"u" + name, std::make_shared<const v1::Report>(report)}});
}

void RunFixture::ReportOutcome(const std::string& name, const std::string& plan_id, bool succeeded,
                               bool cancelled) {
  v1::Report report;
  report.set_report_sequence(++report_sequence_[name]);
  report.set_plan_id(plan_id);
  report.mutable_outcome()->set_succeeded(succeeded);
  report.mutable_outcome()->set_cancelled(cancelled);
  if (!succeeded) report.mutable_outcome()->set_message("role failed at 'step'");
  engine_->OnReports({{"u" + name, std::make_shared<const v1::Report>(report)}});
}

void RunFixture::Complete(const std::string& name, const std::string& plan_id) {
  ReportStep(name, plan_id, v1::STEP_STATUS_CHANGED);
  ReportOutcome(name, plan_id, true);
}

v1::Run RunFixture::Run(const std::string& run_id) {
  v1::Run run;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RunRecord record, txn.runs().Get(run_id));
    ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> nodes, txn.runs().ListNodes(run_id));
    run = ToProto(record, nodes);
    return absl::OkStatus();
  }));
  return run;
}

std::string RunFixture::BlobsOf(const std::string& name) {
  std::string blobs;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto plans, txn.open_plans().List("u" + name));
    for (const OpenPlanRecord& plan : plans) blobs += plan.blobs;
    return absl::OkStatus();
  }));
  return blobs;
}

std::string RunFixture::StateOf(const std::string& run_id, const std::string& node) {
  const v1::Run run = Run(run_id);
  for (const v1::NodeRecap& recap : run.nodes()) {
    if (recap.node() == node) {
      return absl::StrCat(recap.state(), " ok=", recap.ok(), " changed=", recap.changed(),
                          " failed=", recap.failed());
    }
  }
  return "not in the run";
}

std::vector<RunRecord> RunFixture::Runs() {
  std::vector<RunRecord> runs;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(runs, txn.runs().List(100));
    return absl::OkStatus();
  }));
  return runs;
}

NodeRecord RunFixture::NodeOf(const std::string& name) {
  NodeRecord node;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(node, txn.nodes().GetByName(name));
    return absl::OkStatus();
  }));
  return node;
}

std::vector<EventRecord> RunFixture::EventsOf(const std::string& action) {
  std::vector<EventRecord> events;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(events, txn.events().List(1000, 0));
    return absl::OkStatus();
  }));
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&](const EventRecord& event) { return event.action != action; }),
               events.end());
  return events;
}

}  // namespace muster::controller
