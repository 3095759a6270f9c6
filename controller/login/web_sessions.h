// The people who are logged in to the page.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/enrollment/identity.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class Denylist;

// One-time links, and the sessions of the browsers that followed them. A session is a person with
// the certificate that asked for the link: it ends when that expires or is denied. In memory alone,
// as digests: a restart of the controller logs everybody out. Thread-safe.
class WebSessions {
 public:
  static constexpr absl::Duration kLinkLasts = absl::Minutes(5);
  // After the last request; an open page makes one every few seconds, a hidden one every
  // ten minutes.
  static constexpr absl::Duration kIdle = absl::Hours(1);
  static constexpr absl::Duration kLongest = absl::Hours(12);
  // A person has at most so many; the oldest makes room.
  static constexpr size_t kMaxLinks = 4;
  static constexpr size_t kMaxSessions = 8;

  struct Ticket {
    std::string secret;  // 64 hexadecimal digits: of a link, or of a session's cookie
    absl::Time ends_at;  // at the latest
    Identity identity;
    // Proves with each request that it comes from the session's page; links have none. A browser
    // also gives the cookie to programs on other ports of the host, but not this.
    std::string token;
  };

  // The references must outlive the object.
  WebSessions(const Denylist& denylist, Clock& clock) : denylist_(denylist), clock_(clock) {}

  Ticket MakeLink(const Identity& identity);
  // The session of whoever has the link, which works once. Unauthenticated: it was used, has
  // expired or was never made; PermissionDenied: its person was revoked.
  absl::StatusOr<Ticket> Redeem(absl::string_view link);
  // Returns the session of this cookie and token, and counts as a request of it. Unauthenticated:
  // there is none, or the token is another session's; PermissionDenied as above.
  absl::StatusOr<Ticket> Find(absl::string_view cookie, absl::string_view token);
  void End(absl::string_view cookie);

  // Links and sessions that are kept.
  size_t size() const;

 private:
  struct Entry {
    Identity identity;
    absl::Time made_at;
    absl::Time ends_at;
    absl::Time used_at;
    std::string token_digest;  // of a session
  };
  using Entries = std::map<std::string, Entry>;  // by the secret's digest

  Ticket Add(Entries& entries, const Identity& identity, absl::Duration lasts, size_t most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetEnded(Entries& entries, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Denylist& denylist_;
  Clock& clock_;
  mutable absl::Mutex mutex_;
  Entries links_ ABSL_GUARDED_BY(mutex_);
  Entries sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
