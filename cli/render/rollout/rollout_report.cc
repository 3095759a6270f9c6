#include "cli/render/rollout/rollout_report.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/bundle_report.h"
#include "cli/render/report/node_report.h"
#include "cli/render/rollout/rollout_words.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

// The order of the steps in a report: what happens now, what went wrong, and the rest.
constexpr v1::RolloutStep kStepOrder[] = {
    v1::ROLLOUT_STEP_REQUEUING,  v1::ROLLOUT_STEP_DRAINING, v1::ROLLOUT_STEP_APPLYING,
    v1::ROLLOUT_STEP_VALIDATING, v1::ROLLOUT_STEP_RESUMING, v1::ROLLOUT_STEP_QUARANTINED,
    v1::ROLLOUT_STEP_FAILED,     v1::ROLLOUT_STEP_SKIPPED,  v1::ROLLOUT_STEP_DONE,
    v1::ROLLOUT_STEP_PENDING,
};

size_t RankOf(v1::RolloutStep step) {
  return static_cast<size_t>(std::find(std::begin(kStepOrder), std::end(kStepOrder), step) -
                             std::begin(kStepOrder));
}

absl::Time EndOf(const v1::Rollout& rollout, absl::Time now) {
  return rollout.has_finished_at() ? ToTime(rollout.finished_at()) : now;
}

int CountIn(const v1::Rollout& rollout, bool (*is_wanted)(v1::RolloutStep)) {
  return static_cast<int>(
      std::count_if(rollout.nodes().begin(), rollout.nodes().end(),
                    [is_wanted](const v1::RolloutNode& node) { return is_wanted(node.step()); }));
}

bool IsDone(v1::RolloutStep step) { return step == v1::ROLLOUT_STEP_DONE; }

std::string AllNodes(const v1::Rollout& rollout) {
  return NodesIn(rollout, [](v1::RolloutStep) { return true; });
}

// Nodes in the same step with the same message.
struct StepGroup {
  std::vector<std::string> nodes;
  v1::RolloutStep step;
  std::string message;
  absl::Time since;  // the earliest
};

std::vector<StepGroup> StepGroups(const v1::Rollout& rollout) {
  std::map<std::pair<size_t, std::string>, StepGroup> by_step;
  for (const v1::RolloutNode& node : rollout.nodes()) {
    const absl::Time since = node.has_since() ? ToTime(node.since()) : absl::InfiniteFuture();
    StepGroup& group =
        by_step
            .emplace(std::make_pair(RankOf(node.step()), node.message()),
                     StepGroup{{}, node.step(), PlainText(node.message(), Lines::kOne), since})
            .first->second;
    group.nodes.push_back(node.node());
    group.since = std::min(group.since, since);
  }
  std::vector<StepGroup> groups;
  for (auto& [key, group] : by_step) groups.push_back(std::move(group));
  return groups;
}

std::string Head(const v1::Rollout& rollout, absl::Time now) {
  const v1::CreateRolloutRequest& request = rollout.request();
  std::string text = absl::StrCat("rollout ", rollout.rollout_id(), ": ", request.playbook(), ", ",
                                  StateWord(rollout.state()), ", by ", rollout.created_by(), "\n");
  const auto line = [&text](const char* key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, absl::StrFormat("%-12s", key), value, "\n");
  };
  line("because", PlainText(rollout.message(), Lines::kOne));
  const absl::Time started = ToTime(rollout.created_at());
  line("started",
       absl::StrCat(HumanTime(started, now), rollout.has_finished_at() ? ", took " : "",
                    rollout.has_finished_at() ? HumanDuration(EndOf(rollout, now) - started) : ""));
  line("nodes", AllNodes(rollout));
  line("left out",
       rollout.left_out().empty() ? "" : absl::StrCat(rollout.left_out(), ": not workers"));
  line("bundle", ShortDigest(request.bundle_sha256()));
  line("stack", request.stack());
  line("suite", request.suite());
  line("waves", WaveProgress(rollout));
  line("budgets", DescribeBudgets(rollout));
  line("windows", absl::StrJoin(request.windows(), ", "));
  line("reboots", DescribeReboots(request));
  line("rollback", rollout.previous_bundle_sha256().empty()
                       ? "impossible: no bundle of before is known"
                       : DescribeWayBack(rollout));
  line("takes back", request.rolls_back_id());
  return text;
}

std::string StepTable(const v1::Rollout& rollout, absl::Time now) {
  Table table({"NODES", "STEP", "SINCE", "MESSAGE"});
  for (StepGroup& group : StepGroups(rollout)) {
    const bool is_timed =
        group.step != v1::ROLLOUT_STEP_PENDING && group.since != absl::InfiniteFuture();
    table.AddRow({FoldHostlist(std::move(group.nodes)), std::string(StepWord(group.step)),
                  is_timed ? HumanTime(group.since, now) : "", group.message});
  }
  return table.ToString();
}

// What brings the nodes back that are kept out of Slurm.
std::string WaysBack(const v1::Rollout& rollout) {
  const std::string failed =
      NodesIn(rollout, [](v1::RolloutStep step) { return step == v1::ROLLOUT_STEP_FAILED; });
  const std::string quarantined =
      NodesIn(rollout, [](v1::RolloutStep step) { return step == v1::ROLLOUT_STEP_QUARANTINED; });
  return absl::StrCat(
      failed.empty() ? ""
                     : absl::StrCat("kept out of Slurm until: muster node resume '", failed, "'\n"),
      quarantined.empty()
          ? ""
          : absl::StrCat("quarantined until they pass: muster validate '", quarantined,
                         "' --suite ", rollout.request().suite(), "\n"));
}

// The commands that show more about a failed node.
std::string Failures(const v1::Rollout& rollout) {
  std::string text;
  for (const v1::RolloutNode& node : rollout.nodes()) {
    if (!IsFailure(node.step())) continue;
    absl::StrAppend(&text, "\n", node.node(), ": ", StepWord(node.step()),
                    node.message().empty() ? "" : ": ", PlainText(node.message(), Lines::kOne),
                    "\n");
    if (node.step() == v1::ROLLOUT_STEP_FAILED && !node.run_id().empty())
      absl::StrAppend(&text, "    muster run show ", node.run_id(), " --failed\n");
    if (!node.validation_id().empty())
      absl::StrAppend(&text, "    muster validate show ", node.validation_id(), "\n");
  }
  return text.empty() ? "" : absl::StrCat(text, "\n", WaysBack(rollout));
}

std::string PendingReboots(const v1::Rollout& rollout) {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const v1::RolloutNode& node : rollout.nodes()) {
    if (!node.reboot_pending().empty()) nodes.emplace_back(node.node(), node.reboot_pending());
  }
  return nodes.empty() ? "" : absl::StrCat("\n", RenderPendingReboots(std::move(nodes)));
}

// "wave 1: soaking", "paused".
std::string StateWords(const v1::CreateRolloutRequest& request, v1::RolloutState state,
                       uint32_t wave) {
  const bool is_of_wave = state == v1::ROLLOUT_STATE_ROLLING || state == v1::ROLLOUT_STATE_SOAKING;
  return absl::StrCat(is_of_wave ? absl::StrCat(WaveName(request, wave), ": ") : "",
                      StateWord(state));
}

std::string EventWords(const v1::CreateRolloutRequest& request, const v1::RolloutEvent& event) {
  const std::string what = event.node().empty() ? StateWords(request, event.state(), event.wave())
                                                : std::string(StepWord(event.step()));
  return absl::StrCat(what, event.message().empty() ? "" : ": ",
                      PlainText(event.message(), Lines::kOne));
}

}  // namespace

std::string RenderRollouts(const v1::ListRolloutsResponse& response, absl::Time now) {
  Table table({"ROLLOUT", "STATE", "PLAYBOOK", "NODES", "DONE", "FAILED", "BY", "STARTED", "TOOK"});
  for (const v1::Rollout& rollout : response.rollouts()) {
    const absl::Time started = ToTime(rollout.created_at());
    table.AddRow(
        {rollout.rollout_id(), StateWords(rollout.request(), rollout.state(), rollout.wave()),
         rollout.request().playbook(), AllNodes(rollout), absl::StrCat(CountIn(rollout, IsDone)),
         absl::StrCat(CountIn(rollout, IsFailure)), rollout.created_by(), HumanTime(started, now),
         HumanDuration(EndOf(rollout, now) - started)});
  }
  return table.ToString();
}

std::string RenderRollout(const v1::Rollout& rollout, absl::Time now) {
  const std::string next = NextCommands(rollout);
  return absl::StrCat(Head(rollout, now), "\n", StepTable(rollout, now), Failures(rollout),
                      PendingReboots(rollout), next.empty() ? "" : "\n", next);
}

std::string RenderRolloutEvent(const v1::CreateRolloutRequest& request,
                               const v1::RolloutEvent& event) {
  return absl::StrCat(event.node(), event.node().empty() ? "" : ": ", EventWords(request, event),
                      "\n");
}

std::string RenderTimeline(const v1::Rollout& rollout, absl::TimeZone zone) {
  Table table({"TIME", "NODE", "EVENT"});
  for (const v1::RolloutEvent& event : rollout.events()) {
    table.AddRow({absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(event.time()), zone), event.node(),
                  EventWords(rollout.request(), event)});
  }
  return table.ToString();
}

std::string WaveProgress(const v1::Rollout& rollout) {
  const auto over = static_cast<uint32_t>(CountIn(rollout, IsOver));
  std::vector<std::string> parts;
  uint32_t begin = 0;
  for (int wave = 0; wave < rollout.wave_sizes_size(); ++wave) {
    const uint32_t end = std::max(begin, rollout.wave_sizes(wave));
    parts.push_back(absl::StrCat(WaveName(rollout.request(), static_cast<uint32_t>(wave)), ": ",
                                 std::clamp(over, begin, end) - begin, " of ", end - begin));
    begin = end;
  }
  return absl::StrJoin(parts, ", ");
}

std::string NextCommands(const v1::Rollout& rollout) {
  const std::string& id = rollout.rollout_id();
  if (rollout.state() == v1::ROLLOUT_STATE_PAUSED) {
    return absl::StrCat("to continue: muster rollout resume ", id,
                        "\nto end it: muster rollout abort ", id, "\n",
                        rollout.previous_bundle_sha256().empty()
                            ? ""
                            : absl::StrCat("to take it back: muster rollout rollback ", id, "\n"));
  }
  if (!rollout.rolled_back_by().empty()) {
    return absl::StrCat("rolled back by ", rollout.rolled_back_by(), ": muster rollout watch ",
                        rollout.rolled_back_by(), "\n");
  }
  return "";
}

std::string RenderChange(const v1::Rollout& rollout) {
  const std::string active = NodesIn(rollout, IsActive);
  return absl::StrCat("rollout ", rollout.rollout_id(), ": ", StateWord(rollout.state()),
                      rollout.message().empty() ? "" : ": ",
                      PlainText(rollout.message(), Lines::kOne), "\n",
                      active.empty() ? "" : absl::StrCat("still being updated: ", active, "\n"),
                      NextCommands(rollout));
}

std::string RenderExplanation(const v1::ExplainRolloutNodeResponse& response, absl::Time now) {
  const v1::RolloutNode& node = response.node();
  return absl::StrCat(
      node.node(), " in rollout ", response.rollout_id(), ": ", StepWord(node.step()),
      node.has_since() ? absl::StrCat(", for ", HumanDuration(now - ToTime(node.since()))) : "",
      "\n", Indent(response.explanation()));
}

}  // namespace muster::cli
