// Two machines that use one identity, told by their boots.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// The boots of one node. A machine boots and never comes back with an earlier boot: one that does
// is a clone of another. Pure; not thread-safe.
class BootHistory {
 public:
  // As stored: the last boot, and those before it, separated by spaces. Empty: none yet.
  BootHistory(std::string current, absl::string_view earlier);

  // The node greets with this boot. False: two machines share the identity.
  bool Accept(const std::string& boot_id);
  // Whether a refusal of this boot is to be entered at `now` into the audit log, which never
  // shrinks: not twice for one boot, and for a clone that comes with one boot after another not
  // more often than each `interval`. A clock that was set back begins a new one.
  bool IsNews(const std::string& boot_id, absl::Time now, absl::Duration interval) const;
  void OnAudited(const std::string& boot_id, absl::Time now);

  // The boots before the present one, the last few, to be stored.
  std::string earlier() const;

 private:
  std::string current_;
  std::vector<std::string> earlier_;
  std::string audited_;  // the last boot that was refused and audited
  absl::Time audited_at_ = absl::InfinitePast();
};

}  // namespace muster::controller
