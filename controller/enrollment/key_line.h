// The line of a node's certificates, and what it says about whoever shows one. Pure.
//
// A machine only moves forward: it stores a renewed certificate before using it, and never returns
// to an older one after using a newer one. So whoever shows a certificate after a later one was
// used is not the holder of the later one: the key was copied.
//
// Two cases look like a copy but are not. In the first, the answer to a renewal was lost, or a
// crash came before the machine had stored it: the later certificate was never used, and the
// machine renews again from the one that it has. In the second, the store was restored from a
// backup and does not know the certificates that were issued since; a certificate that our
// authority has signed and the store does not know is therefore taken for the newest. So the store
// has to know each until it has expired.
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
  kFirst,      // to be recorded: earlier certificates are now over
  kForgotten,  // signed by us, but not in the store
  kCopied,     // a later one was used
};

KeyUse JudgeKey(const std::vector<CertificateRecord>& line, absl::string_view serial);

// The last certificate in the line that was used; nullptr: none was, or only that of the join.
const CertificateRecord* NewestUsed(const std::vector<CertificateRecord>& line);

// PermissionDenied: two machines hold a node's key. The message tells neither where the other is.
absl::Status KeyCopied();

// Whether the machine that was looked up in the store may connect. PermissionDenied, with the
// remedy: it is not enrolled any more, or it is locked because its key was copied.
absl::Status CheckMember(const absl::StatusOr<NodeRecord>& node);

// ResourceExhausted: a dozen of `certificates` were signed within the hour. `whose` names their
// owner.
absl::Status CheckPace(const std::vector<CertificateRecord>& certificates, absl::string_view whose,
                       absl::Time now);

uint64_t NewestGeneration(const std::vector<CertificateRecord>& line);

}  // namespace muster::controller
