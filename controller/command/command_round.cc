#include "controller/command/command_round.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "common/base/text/counted.h"

namespace muster::controller {
namespace {

struct OutcomeRow {
  v1::CommandOutcome outcome;
  absl::string_view words;
  bool is_agents;  // whether an agent may say so
};
constexpr OutcomeRow kOutcomes[] = {
    {v1::COMMAND_OUTCOME_EXITED, "exited with ", true},
    {v1::COMMAND_OUTCOME_SIGNALED, "ended by signal ", true},
    {v1::COMMAND_OUTCOME_TIMED_OUT, "timed out", true},
    {v1::COMMAND_OUTCOME_STOPPED, "stopped", true},
    {v1::COMMAND_OUTCOME_NOT_RUN, "not run", true},
    {v1::COMMAND_OUTCOME_NOT_CONNECTED, "not connected", false},
    {v1::COMMAND_OUTCOME_LOST, "lost", false},
};

const OutcomeRow* RowOf(v1::CommandOutcome outcome) {
  for (const OutcomeRow& row : kOutcomes) {
    if (row.outcome == outcome) return &row;
  }
  return nullptr;
}

std::string WordsOf(const v1::CommandEnd& end) {
  const OutcomeRow& row = *RowOf(end.outcome());
  if (end.outcome() == v1::COMMAND_OUTCOME_EXITED)
    return absl::StrCat(row.words, end.exit_status());
  if (end.outcome() == v1::COMMAND_OUTCOME_SIGNALED) return absl::StrCat(row.words, end.signal());
  return std::string(row.words);
}

v1::CommandEnd EndOf(v1::CommandOutcome outcome, absl::string_view why) {
  v1::CommandEnd end;
  end.set_outcome(outcome);
  end.set_message(std::string(why));
  return end;
}

}  // namespace

CommandRound::CommandRound(std::vector<CommandNode> nodes, size_t at_once, absl::Duration patience)
    : at_once_(std::max<size_t>(at_once, 1)), patience_(patience) {
  for (CommandNode& node : nodes) {
    digests_[node.name] = Sha256Hex("");
    if (node.uuid.empty()) {
      End(node.name, EndOf(v1::COMMAND_OUTCOME_NOT_CONNECTED, "it has not joined"));
    } else {
      pending_.push_back(std::move(node));
    }
  }
}

size_t CommandRound::Room() const {
  return at_once_ - std::min(at_once_, running_.size() + ends_.size());
}

void CommandRound::End(std::string node, v1::CommandEnd end) {
  digests_[node] = Sha256Hex(end.output());
  ++outcomes_[WordsOf(end)];
  v1::NodeCommandEnd& ended = ends_.emplace_back();
  ended.set_node(std::move(node));
  *ended.mutable_end() = std::move(end);
}

std::vector<CommandNode> CommandRound::TakeStarts(absl::Time now) {
  std::vector<CommandNode> starts;
  while (CanStart()) {
    CommandNode node = std::move(pending_.front());
    pending_.pop_front();
    running_[node.uuid] = {node.name, now + patience_};
    starts.push_back(std::move(node));
  }
  return starts;
}

void CommandRound::OnEnd(absl::string_view uuid, v1::CommandEnd end) {
  const auto found = running_.find(uuid);
  if (found == running_.end()) return;
  const OutcomeRow* row = RowOf(end.outcome());
  if (row == nullptr || !row->is_agents)
    end = EndOf(v1::COMMAND_OUTCOME_LOST, "its agent sent an outcome that is not known here");
  End(found->second.name, std::move(end));
  running_.erase(found);
}

void CommandRound::OnLost(absl::string_view uuid, v1::CommandOutcome outcome,
                          absl::string_view why) {
  const auto found = running_.find(uuid);
  if (found == running_.end()) return;
  End(found->second.name, EndOf(outcome, why));
  running_.erase(found);
}

std::vector<std::string> CommandRound::Expire(absl::Time now) {
  std::vector<std::string> late;
  for (const auto& [uuid, start] : running_) {
    if (now >= start.deadline) late.push_back(uuid);
  }
  for (const std::string& uuid : late)
    OnLost(uuid, v1::COMMAND_OUTCOME_LOST,
           "its agent has not answered; is it older than the controller?");
  return late;
}

std::optional<v1::NodeCommandEnd> CommandRound::TakeEnd() {
  if (ends_.empty()) return std::nullopt;
  v1::NodeCommandEnd end = std::move(ends_.front());
  ends_.pop_front();
  return end;
}

absl::Time CommandRound::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [uuid, start] : running_) next = std::min(next, start.deadline);
  return next;
}

std::vector<std::string> CommandRound::Running() const {
  std::vector<std::string> uuids;
  for (const auto& [uuid, start] : running_) uuids.push_back(uuid);
  return uuids;
}

std::string CommandRound::Summary() const {
  std::vector<std::string> parts;
  for (const auto& [words, nodes] : outcomes_) parts.push_back(absl::StrCat(nodes, " ", words));
  const size_t open = pending_.size() + running_.size();
  if (open > 0) parts.push_back(absl::StrCat(open, " not finished"));
  return absl::StrCat(Counted(digests_.size(), "node"), ": ", absl::StrJoin(parts, ", "));
}

std::string CommandRound::OutputDigest() const {
  Sha256 digest;
  for (const auto& [node, of_output] : digests_)
    digest.Update(absl::StrCat(node, " ", of_output, "\n"));
  return digest.FinishHex();
}

}  // namespace muster::controller
