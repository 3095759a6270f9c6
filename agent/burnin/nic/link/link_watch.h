// Watches the interface under a test: a lost link explains a failed test.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/nic/link/link_rules.h"
#include "agent/burnin/nic/link/link_state.h"
#include "agent/burnin/nic/transport/socket.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Not thread-safe.
class LinkWatch {
 public:
  // A link that is away for less than this flaps: that is reported at the end, and the test
  // continues.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // `address`: of this end of the connection; an address that no interface has is not watched.
  LinkWatch(sys::FileSystem& files, absl::string_view address);

  // "" : not known.
  const std::string& interface() const { return before_.state.name; }
  // FailedPrecondition: the link has been down for kPatience.
  absl::Status Look();
  // Reports at the end: the subject, a fault "link_down" when it is down now, "link_flapped" when
  // it came back; otherwise also the growth of its error counters, and "crc_errors" for frames that
  // arrived damaged. The same for the cards that carry it, which see damaged frames alone; those
  // have the attribute "below".
  void Report(CheckResult& result);

 private:
  void Report(const LinkReading& before, CheckResult& result);

  sys::FileSystem& files_;
  LinkReading before_;
  std::vector<LinkReading> cards_before_;  // with a link, below a VLAN, a bond or a bridge
  bool was_down_ = false;
  Moment down_since_ = {};
};

}  // namespace muster::burnin
