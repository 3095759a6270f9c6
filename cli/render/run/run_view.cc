#include "cli/render/run/run_view.h"

#include <algorithm>

#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "google/protobuf/timestamp.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

void TakeRecap(const v1::NodeRecap& recap, NodeView& node) {
  node.state = recap.state();
  node.ok = recap.ok();
  node.changed = recap.changed();
  node.failed = recap.failed();
  node.skipped = recap.skipped();
  node.unreachable = recap.unreachable();
  if (!recap.message().empty()) node.message = recap.message();
}

void Count(const v1::StepResult& step, NodeView& node) {
  switch (step.status()) {
    case v1::STEP_STATUS_OK:
      ++node.ok;
      break;
    case v1::STEP_STATUS_CHANGED:
      ++node.changed;
      break;
    case v1::STEP_STATUS_FAILED:
      ++node.failed;
      break;
    case v1::STEP_STATUS_SKIPPED:
      ++node.skipped;
      break;
    default:
      break;
  }
}

// Whether the node has finished the play or left the run.
bool IsOver(const NodeView& node) {
  return node.state != "waiting" && node.state != "running" && node.state != "rebooting";
}

}  // namespace

void NodeView::CountSteps(uint32_t told_done) {
  steps_done = std::max({steps_done, told_done, static_cast<uint32_t>(results.size())});
  if (steps_total > 0) steps_done = std::min(steps_done, steps_total);
}

RunView::RunView(const v1::Run& run, absl::Time now)
    : run_id_(run.run_id()), started_(now), check_only_(run.check_only()) {
  if (run.has_created_at()) started_ = ToTime(run.created_at());
  if (run.has_finished_at()) ended_ = ToTime(run.finished_at());
  play_count_ = static_cast<uint32_t>(run.plays_size());
  play_index_ = run.current_play();
  if (play_index_ < play_count_) play_ = run.plays(static_cast<int>(play_index_));
  // The coming events report every step again: count from them, not from the totals so far.
  for (const v1::NodeRecap& recap : run.nodes()) At(recap.node());
  for (const v1::BusyNodes& busy : run.left_out())
    left_out_.push_back({busy.nodes(), busy.reason()});
}

NodeView& RunView::At(const std::string& name) {
  NodeView& node = nodes_[name];
  node.name = name;
  return node;
}

void RunView::TakeRun(const v1::Run& run) {
  finished_ = run.state() != v1::RUN_STATE_RUNNING;
  if (run.has_finished_at()) ended_ = ToTime(run.finished_at());
  cancelled_ = run.state() == v1::RUN_STATE_CANCELLED;
  message_ = run.message();
  for (const v1::NodeRecap& recap : run.nodes()) TakeRecap(recap, At(recap.node()));
}

absl::Duration RunView::Elapsed(absl::Time now) const {
  return std::max(absl::ZeroDuration(), ended_.value_or(now) - started_);
}

// Sent again after a restart of the controller, also for nodes that have finished the play.
void RunView::TakePlay(const v1::PlayStarted& started, absl::Time now) {
  if (started.play_index() >= play_index_) {
    play_index_ = started.play_index();
    play_ = started.name();
  }
  for (const std::string& name : started.nodes()) {
    NodeView& node = At(name);
    if (node.play == started.play_index()) continue;
    node.play = started.play_index();
    node.state = "running";
    node.role = node.step = node.activity = "";
    node.percent = -1;
    node.steps_done = node.steps_total = 0;
    node.results.clear();
    node.step_since = now;
  }
}

void RunView::Apply(const v1::RunEvent& event, absl::Time now) {
  if (event.sequence() > 0) {
    if (event.sequence() <= sequence_) return;  // seen before the stream broke
    sequence_ = event.sequence();
  }
  switch (event.event_case()) {
    case v1::RunEvent::kPlayStarted:
      TakePlay(event.play_started(), now);
      break;
    case v1::RunEvent::kProgress: {
      const v1::StepProgress& progress = event.progress();
      NodeView& node = At(event.node());
      if (IsOver(node)) break;
      if (node.role != progress.role() || node.step != progress.name()) node.step_since = now;
      node.state = "running";
      node.role = progress.role();
      node.step = progress.name();
      node.activity = progress.activity();
      node.percent = progress.has_percent() ? progress.percent() : -1;
      node.steps_total = std::max(node.steps_total, progress.steps_total());
      node.CountSteps(progress.steps_done());
      break;
    }
    case v1::RunEvent::kStep: {
      NodeView& node = At(event.node());
      Count(event.step(), node);
      node.failed_step |= event.step().status() == v1::STEP_STATUS_FAILED;
      // After a restart of the controller, results of all plays come before the play is reported.
      if (node.play.has_value() && !event.step().handler()) {
        node.results.insert(event.step().step_id());
        node.CountSteps(0);
      }
      if (node.state == "waiting") node.state = "running";
      break;
    }
    case v1::RunEvent::kNodeFinished:
      TakeRecap(event.node_finished(), At(event.node_finished().node()));
      break;
    case v1::RunEvent::kRunFinished:
      TakeRun(event.run_finished());
      break;
    case v1::RunEvent::EVENT_NOT_SET:
      break;
  }
}

}  // namespace muster::cli
