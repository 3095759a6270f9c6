#include "controller/validation/verdict/group_loss.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::controller::validation {
namespace {

// Two nodes that accuse each other may both be right.
constexpr size_t kMinWitnesses = 2;

bool CouldNotTell(const GroupMember& member) {
  return member.verdict->outcome() == v1::OUTCOME_UNKNOWN ||
         member.verdict->outcome() == v1::OUTCOME_FAIL;
}

// The other rank whose loss ended the check here, as far as this node knows.
std::optional<uint32_t> NamedBy(const GroupMember& member) {
  if (member.result == nullptr || !member.result->has_lost_rank()) return std::nullopt;
  const int32_t rank = member.result->lost_rank();
  if (rank < 0 || static_cast<uint32_t>(rank) == member.rank) return std::nullopt;
  return static_cast<uint32_t>(rank);
}

bool WasStopped(const GroupMember& member) {
  return member.result != nullptr && member.result->stopped();
}

// Whether a finding is about the whole ring: data that passed through all members, or a time around
// it.
bool IsOfTheRing(const v1::Finding& finding) {
  if (finding.metric() == "wrong_sum" || absl::StartsWith(finding.metric(), "scaling_"))
    return true;
  return finding.has_value() &&
         (finding.unit() == "GB/s" || finding.unit() == "ms" || finding.unit() == "µs");
}

// The node neither lost another nor was stopped: it crashed, was cut off, or its own link was down.
bool HasReasonsOfItsOwn(const GroupMember& member) {
  const bool lost_some = member.result != nullptr && member.result->has_lost_rank() &&
                         member.result->lost_rank() != static_cast<int64_t>(member.rank);
  return CouldNotTell(member) && !lost_some && !WasStopped(member);
}

// The rank that more members name than any other.
std::optional<uint32_t> MostNamed(absl::Span<const GroupMember> members) {
  std::map<uint32_t, size_t> votes;
  for (const GroupMember& member : members) {
    if (const std::optional<uint32_t> rank = NamedBy(member)) ++votes[*rank];
  }
  std::optional<uint32_t> most;
  size_t highest = kMinWitnesses - 1;
  for (const auto& [rank, count] : votes) {
    if (count < highest) continue;
    most = count > highest ? std::optional<uint32_t>(rank) : std::nullopt;
    highest = count;
  }
  return most;
}

}  // namespace

void ExcuseSurvivors(absl::Span<const GroupMember> members) {
  const std::optional<uint32_t> most_named = MostNamed(members);
  std::set<uint32_t> lost;
  std::vector<std::string> names;
  for (const GroupMember& member : members) {
    if (!HasReasonsOfItsOwn(member) && !(member.rank == most_named && CouldNotTell(member))) {
      continue;
    }
    lost.insert(member.rank);
    names.push_back(member.node);
  }
  if (lost.empty()) return;
  for (const GroupMember& member : members) {
    if (member.verdict->outcome() != v1::OUTCOME_UNKNOWN || lost.count(member.rank) > 0) continue;
    if (!NamedBy(member).has_value() && !WasStopped(member)) continue;
    member.verdict->set_excused(true);
    member.verdict->set_reason(absl::StrCat("not this node's fault: the check lost ",
                                            absl::StrJoin(names, ", "), " (",
                                            member.verdict->reason(), ")"));
  }
}

void SuspectRing(absl::Span<const GroupMember> members) {
  for (const GroupMember& member : members) {
    const auto is_own = [](const v1::Finding& finding) {
      return finding.outcome() == v1::OUTCOME_FAIL && !IsOfTheRing(finding);
    };
    v1::CheckVerdict& verdict = *member.verdict;
    const auto& findings = verdict.findings();
    if (verdict.outcome() != v1::OUTCOME_FAIL || findings.empty() ||
        std::any_of(findings.begin(), findings.end(), is_own)) {
      continue;
    }
    verdict.set_outcome(v1::OUTCOME_UNKNOWN);
    verdict.set_reason(absl::StrCat("cannot tell which of ", members.size(),
                                    " nodes, or the network between them, is at fault: ",
                                    verdict.reason(), "; measure them in pairs"));
  }
}

}  // namespace muster::controller::validation
