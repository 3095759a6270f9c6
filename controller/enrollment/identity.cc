#include "controller/enrollment/identity.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/base/text/user_name.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kNodeUri = "muster://node/";
constexpr absl::string_view kUserUri = "muster://user/";
constexpr absl::string_view kOrganization = "muster:";

struct RoleRow {
  Role role;
  absl::string_view name;
};
constexpr RoleRow kRoles[] = {
    {Role::kNode, "node"},
    {Role::kViewer, "viewer"},
    {Role::kOperator, "operator"},
    {Role::kAdmin, "admin"},
};

}  // namespace

absl::string_view RoleName(Role role) { return kRoles[static_cast<size_t>(role)].name; }

absl::StatusOr<Role> ParseRole(absl::string_view name) {
  std::vector<std::string> known;
  for (const RoleRow& row : kRoles) {
    if (row.name == name) return row.role;
    known.emplace_back(row.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown role '", name, "'", DidYouMean(name, known)));
}

std::string Identity::Actor() const { return absl::StrCat(RoleName(role), ":", name); }

absl::StatusOr<Identity> IdentityOf(const pki::Certificate& certificate) {
  absl::string_view role_name = certificate.organization;
  if (!absl::ConsumePrefix(&role_name, kOrganization) || certificate.uri_sans.size() != 1)
    return absl::UnauthenticatedError("the certificate names no muster identity");
  const absl::StatusOr<Role> role = ParseRole(role_name);
  if (!role.ok()) return absl::UnauthenticatedError(role.status().message());
  absl::string_view name = certificate.uri_sans[0];
  const bool is_node = *role == Role::kNode;
  if (!absl::ConsumePrefix(&name, is_node ? kNodeUri : kUserUri))
    return absl::UnauthenticatedError("the certificate's URI does not match its role");
  if (is_node ? !IsUuid(name) : !ValidateUserName(name).ok())
    return absl::UnauthenticatedError("the certificate's URI contains no valid name");
  return Identity{*role, std::string(name), certificate.serial, certificate.not_after,
                  certificate.not_before + pki::kBackdating};
}

absl::StatusOr<Identity> ParseActor(absl::string_view actor) {
  const size_t colon = actor.find(':');
  ASSIGN_OR_RETURN(const Role role, ParseRole(actor.substr(0, colon)));
  if (colon == absl::string_view::npos)
    return absl::InvalidArgumentError(absl::StrCat("'", actor, "' names nobody"));
  return Identity{role, std::string(actor.substr(colon + 1)), ""};
}

std::string IdentityUri(Role role, absl::string_view name) {
  return absl::StrCat(role == Role::kNode ? kNodeUri : kUserUri, name);
}

std::string OrganizationOf(Role role) { return absl::StrCat(kOrganization, RoleName(role)); }

}  // namespace muster::controller
