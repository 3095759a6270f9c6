// The line of a node's certificates, and what it tells of who shows one. Pure.
//
// A machine goes forward only: it keeps a renewed certificate before it uses it, and never returns
// to an older one once it has used a newer one. So a certificate that is shown after a later one
// was used is held by somebody else than that one: the key was copied.
//
// Two cases look like a copy and are not. The answer to a renewal was lost, or a crash cut it off
// before the machine had kept it: the later certificate was never used, and the machine renews once
// more from the one that it has. And the store was restored from a backup: it does not know the
// certificates that were made since, so what our authority has signed and the store has forgotten
// is taken for the newest.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/store/tables.h"

namespace muster::controller {

enum class KeyUse {
  kKnown,      // nothing new
  kFirst,      // to be noted: those before it are over now
  kForgotten,  // signed by us, and not in the store
  kCopied,     // a later one was used
};

KeyUse JudgeKey(const std::vector<CertificateRecord>& line, absl::string_view serial);

// The last in the line that was used; nullptr: none was, or only the one of the join.
const CertificateRecord* NewestUsed(const std::vector<CertificateRecord>& line);

// PermissionDenied: a node's key is in two hands. Neither of the two learns from it where the other
// is.
absl::Status KeyCopied();

// Whether the machine that the store has looked up may speak. PermissionDenied, with the remedy: it
// is not enrolled any more, or locked because its key was copied.
absl::Status CheckMember(const absl::StatusOr<NodeRecord>& node);

// ResourceExhausted: `whose` certificates are these, and a dozen of them were signed within the
// hour.
absl::Status CheckPace(const std::vector<CertificateRecord>& certificates, absl::string_view whose,
                       absl::Time now);

uint64_t NewestGeneration(const std::vector<CertificateRecord>& line);

}  // namespace muster::controller
