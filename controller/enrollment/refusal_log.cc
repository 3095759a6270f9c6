#include "controller/enrollment/refusal_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/interval.h"
#include "common/base/text/peer.h"

namespace muster::controller {
std::optional<std::string> RefusalLog::Note(absl::string_view peer, absl::Time now) {
  std::string network = PeerNetwork(peer);
  absl::MutexLock lock(&mutex_);
  std::string before;
  if (HasPassed(kInterval, begin_, now)) {
    before = TellPassedOver();
    begin_ = now;
    logged_.clear();
    others_ = 0;
  }
  if (const auto found = logged_.find(network); found != logged_.end()) {
    ++found->second;
    return std::nullopt;
  }
  if (logged_.size() == kMaxEntries) {
    ++others_;
    return std::nullopt;
  }
  logged_.emplace(std::move(network), 0);
  return before;
}

std::string RefusalLog::TellPassedOver() const {
  if (logged_.empty()) return "";
  uint64_t count = others_;
  const auto* most = &*logged_.begin();
  for (const auto& entry : logged_) {
    count += entry.second;
    if (entry.second > most->second) most = &entry;
  }
  if (count == 0) return "";
  std::string text = absl::StrCat(count, " more refusals since ",
                                  absl::FormatTime("%Y-%m-%d %H:%M", begin_, absl::UTCTimeZone()),
                                  " UTC have no entry");
  if (most->second > 0) absl::StrAppend(&text, ", ", most->second, " of them of ", most->first);
  return text;
}

}  // namespace muster::controller
