#include "controller/session/boot_history.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/interval.h"

namespace muster::controller {
namespace {

constexpr size_t kRememberedBoots = 4;

}  // namespace

BootHistory::BootHistory(std::string current, absl::string_view earlier)
    : current_(std::move(current)), earlier_(absl::StrSplit(earlier, ' ', absl::SkipEmpty())) {}

bool BootHistory::Accept(const std::string& boot_id) {
  if (current_ == boot_id || current_.empty()) {
    current_ = boot_id;
    return true;
  }
  if (std::find(earlier_.begin(), earlier_.end(), boot_id) != earlier_.end()) return false;
  earlier_.push_back(std::exchange(current_, boot_id));
  if (earlier_.size() > kRememberedBoots) earlier_.erase(earlier_.begin());
  return true;
}

bool BootHistory::IsNews(const std::string& boot_id, absl::Time now,
                         absl::Duration interval) const {
  return audited_ != boot_id && HasPassed(interval, audited_at_, now);
}

void BootHistory::OnAudited(const std::string& boot_id, absl::Time now) {
  audited_ = boot_id;
  audited_at_ = now;
}

std::string BootHistory::earlier() const { return absl::StrJoin(earlier_, " "); }

}  // namespace muster::controller
