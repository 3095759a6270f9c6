#include "controller/login/web_sessions.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/enrollment/denylist.h"

namespace muster::controller {
namespace {

constexpr size_t kSecretBytes = 32;

std::string NewSecret() { return absl::BytesToHexString(RandomBytes(kSecretBytes)); }

}  // namespace

void WebSessions::ForgetEnded(Entries& entries, absl::Time now) {
  for (auto entry = entries.begin(); entry != entries.end();) {
    const bool has_ended = entry->second.ends_at <= now || entry->second.used_at + kIdle <= now;
    entry = has_ended ? entries.erase(entry) : std::next(entry);
  }
}

WebSessions::Ticket WebSessions::Add(Entries& entries, const Identity& identity,
                                     absl::Duration lasts, size_t most) {
  const absl::Time now = clock_.Now();
  ForgetEnded(entries, now);
  size_t count = 0;
  auto oldest = entries.end();
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (entry->second.identity.name != identity.name) continue;
    ++count;
    if (oldest == entries.end() || entry->second.made_at < oldest->second.made_at) oldest = entry;
  }
  if (count >= most) entries.erase(oldest);
  Ticket ticket = {NewSecret(), std::min(now + lasts, identity.expires_at), identity, ""};
  entries[Sha256Hex(ticket.secret)] = {identity, now, ticket.ends_at, now, ""};
  return ticket;
}

WebSessions::Ticket WebSessions::MakeLink(const Identity& identity) {
  absl::MutexLock lock(&mutex_);
  return Add(links_, identity, kLinkLasts, kMaxLinks);
}

absl::StatusOr<WebSessions::Ticket> WebSessions::Redeem(absl::string_view link) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  ForgetEnded(links_, now);
  const auto found = links_.find(Sha256Hex(link));
  if (found == links_.end()) {
    return absl::UnauthenticatedError(
        "this link was used or has expired; `muster web login` prints another");
  }
  const Identity identity = found->second.identity;
  links_.erase(found);
  RETURN_IF_ERROR(CheckStanding(identity, denylist_, now));
  Ticket session = Add(sessions_, identity, kLongest, kMaxSessions);
  session.token = NewSecret();
  sessions_[Sha256Hex(session.secret)].token_digest = Sha256Hex(session.token);
  return session;
}

absl::StatusOr<WebSessions::Ticket> WebSessions::Find(absl::string_view cookie,
                                                      absl::string_view token) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(Sha256Hex(cookie));
  // Digests are compared, so that the time that it takes says nothing.
  if (found == sessions_.end() || found->second.ends_at <= now ||
      found->second.used_at + kIdle <= now || found->second.token_digest != Sha256Hex(token)) {
    return absl::UnauthenticatedError("not logged in; `muster web login` prints a link");
  }
  Entry& session = found->second;
  RETURN_IF_ERROR(CheckStanding(session.identity, denylist_, now));
  session.used_at = now;
  return Ticket{std::string(cookie), session.ends_at, session.identity, std::string(token)};
}

void WebSessions::End(absl::string_view cookie) {
  absl::MutexLock lock(&mutex_);
  sessions_.erase(Sha256Hex(cookie));
}

size_t WebSessions::size() const {
  absl::MutexLock lock(&mutex_);
  return links_.size() + sessions_.size();
}

}  // namespace muster::controller
