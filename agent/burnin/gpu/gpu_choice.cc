#include "agent/burnin/gpu/gpu_choice.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

absl::Status AddWord(const std::string& word, const std::vector<std::string>& uuids,
                     std::set<unsigned>& chosen) {
  const auto uuid = std::find(uuids.begin(), uuids.end(), word);
  if (uuid != uuids.end()) {
    chosen.insert(static_cast<unsigned>(uuid - uuids.begin()));
    return absl::OkStatus();
  }
  const size_t dash = word.find('-');
  const absl::string_view first_text = absl::string_view(word).substr(0, dash);
  const absl::string_view last_text =
      dash == std::string::npos ? first_text : absl::string_view(word).substr(dash + 1);
  unsigned first = 0, last = 0;
  if (!absl::SimpleAtoi(first_text, &first) || !absl::SimpleAtoi(last_text, &last) || first > last)
    return absl::InvalidArgumentError(absl::StrCat(
        "--gpus: '", word, "' is not an index, range such as 0-3, or UUID of a GPU here"));
  if (last >= uuids.size())
    return absl::InvalidArgumentError(
        absl::StrCat("--gpus: no GPU ", last, "; the driver sees ", uuids.size()));
  for (unsigned i = first; i <= last; ++i) chosen.insert(i);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<unsigned>> ChooseGpus(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& uuids) {
  std::set<unsigned> chosen;
  for (const std::string& word : words) RETURN_IF_ERROR(AddWord(word, uuids, chosen));
  if (words.empty())
    for (unsigned i = 0; i < uuids.size(); ++i) chosen.insert(i);
  return std::vector<unsigned>(chosen.begin(), chosen.end());
}

}  // namespace muster::burnin
