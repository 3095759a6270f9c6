#include "agent/burnin/gpu/gemm/fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

const Subject* FindSubject(const CheckResult& result, const std::string& id) {
  for (const Subject& subject : result.subjects)
    if (subject.id == id) return &subject;
  return nullptr;
}

// For one model and one computation: value → digests.
using Votes = std::map<std::string, std::vector<const Digest*>>;

// nullptr: no value has more than half of all.
const std::string* Majority(const Votes& votes) {
  size_t all = 0;
  const Votes::value_type* most = nullptr;
  for (const Votes::value_type& vote : votes) {
    all += vote.second.size();
    if (most == nullptr || vote.second.size() > most->second.size()) most = &vote;
  }
  return most != nullptr && 2 * most->second.size() > all ? &most->first : nullptr;
}

}  // namespace

void CompareDigests(CheckResult& result) {
  std::map<std::pair<std::string, std::string>, Votes> computations;
  for (const Digest& digest : result.digests) {
    const Subject* subject = FindSubject(result, digest.subject);
    computations[{subject != nullptr ? subject->model : "", digest.name}][digest.value].push_back(
        &digest);
  }
  for (const auto& [key, votes] : computations) {
    if (votes.size() < 2) continue;
    const std::string* right = Majority(votes);
    for (const auto& [value, digests] : votes) {
      if (right != nullptr && value == *right) continue;
      for (const Digest* digest : digests) {
        const Subject* subject = FindSubject(result, digest->subject);
        AddFault(
            result, "digest_mismatch", digest->subject,
            absl::StrCat("GPU ", digest->subject, " (slot ",
                         subject != nullptr ? subject->slot : "unknown", ") computes ",
                         digest->name, " to ", value,
                         right != nullptr ? absl::StrCat(", most GPUs of its model to ", *right)
                                          : ", other GPUs of its model to something else"));
      }
    }
  }
}

}  // namespace muster::burnin
