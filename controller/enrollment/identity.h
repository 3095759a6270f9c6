// The identity that a certificate stands for.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::pki {
struct Certificate;
}

namespace muster::controller {

// The role of a certificate's bearer; the authorization table says what each role may do.
enum class Role { kNode, kViewer, kOperator, kAdmin };

absl::string_view RoleName(Role role);
// InvalidArgument names the nearest known word.
absl::StatusOr<Role> ParseRole(absl::string_view name);

struct Identity {
  Role role = Role::kViewer;
  std::string name;                                // a node's uuid, or a user's name
  std::string serial;                              // of the certificate, hex
  absl::Time expires_at = absl::InfiniteFuture();  // the certificate
  absl::Time signed_at = absl::UnixEpoch();        // the certificate, in whole seconds

  // The name in the audit log: "admin:alice", "node:<uuid>".
  std::string Actor() const;
};

// Reads the identity from the URI SAN (muster://node/<uuid>, muster://user/<name>) and the role
// from the subject's O (muster:<role>); each must occur exactly once, and they must agree. Errors:
// Unauthenticated.
absl::StatusOr<Identity> IdentityOf(const pki::Certificate& certificate);

// Parses the result of Identity::Actor(). InvalidArgument: not the name of a certificate's bearer.
absl::StatusOr<Identity> ParseActor(absl::string_view actor);

// "muster://node/<uuid>", "muster://user/<name>" and "muster:<role>", as IdentityOf() reads them.
std::string IdentityUri(Role role, absl::string_view name);
std::string OrganizationOf(Role role);

}  // namespace muster::controller
