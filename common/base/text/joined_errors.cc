#include "common/base/text/joined_errors.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace muster {
namespace {

// The payload: the number of omitted errors, then each error, separated by NULs, which no message
// for people contains.
constexpr char kPayload[] = "muster/errors";
constexpr char kBetween = '\0';
constexpr size_t kShown = 20;

}  // namespace

absl::Status JoinErrors(absl::StatusCode code, ErrorTexts errors, absl::string_view separator) {
  std::vector<std::string>& texts = errors.texts;
  if (texts.empty()) return absl::OkStatus();
  size_t kept = 0;
  for (size_t bytes = 0; kept < std::min(texts.size(), kMaxJoinedErrors); ++kept) {
    bytes += texts[kept].size();
    if (bytes > kMaxJoinedBytes && kept > 0) break;
    texts[kept].erase(std::remove(texts[kept].begin(), texts[kept].end(), kBetween),
                      texts[kept].end());
  }
  errors.more += texts.size() - kept;
  texts.resize(kept);

  const size_t shown = std::min(kept, kShown);
  const auto end = texts.begin() + static_cast<ptrdiff_t>(shown);
  std::string message = absl::StrJoin(texts.begin(), end, separator);
  if (const size_t rest = kept - shown + errors.more; rest > 0) {
    absl::StrAppend(&message, separator, "… and ", rest, " more errors");
  }
  absl::Status status(code, message);
  const absl::string_view between(&kBetween, 1);
  status.SetPayload(kPayload,
                    absl::Cord(absl::StrCat(errors.more, between, absl::StrJoin(texts, between))));
  return status;
}

ErrorTexts ErrorsOf(const absl::Status& status) {
  ErrorTexts errors;
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) {
    if (!status.ok()) errors.texts.emplace_back(status.message());
    return errors;
  }
  errors.texts = absl::StrSplit(std::string(*payload), kBetween);
  if (!absl::SimpleAtoi(errors.texts.front(), &errors.more)) errors.more = 0;
  errors.texts.erase(errors.texts.begin());
  return errors;
}

bool HasErrors(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

}  // namespace muster
