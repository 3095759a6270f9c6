#include "controller/enrollment/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/certificate.h"
#include "controller/enrollment/name_rules.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

constexpr char kUuid[] = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";

absl::StatusOr<Identity> Of(const std::string& organization, std::vector<std::string> uris) {
  pki::Certificate certificate;
  certificate.organization = organization;
  certificate.uri_sans = std::move(uris);
  certificate.serial = "1f";
  return IdentityOf(certificate);
}

TEST(Identity, RoundTrip) {
  for (const Role role : {Role::kNode, Role::kViewer, Role::kOperator, Role::kAdmin}) {
    const std::string name = role == Role::kNode ? kUuid : "alice";
    const Identity identity = Of(OrganizationOf(role), {IdentityUri(role, name)}).value();
    EXPECT_EQ(identity.role, role);
    EXPECT_EQ(identity.name, name);
    EXPECT_EQ(identity.serial, "1f");
    EXPECT_EQ(ParseRole(RoleName(role)).value(), role);
  }
}

TEST(Identity, RefusesWhatDoesNotFit) {
  const std::string node = IdentityUri(Role::kNode, kUuid);
  const std::string user = IdentityUri(Role::kAdmin, "alice");
  for (const absl::StatusOr<Identity>& identity :
       {Of("", {user}), Of("muster:root", {user}), Of("admin", {user}), Of("muster:admin", {}),
        Of("muster:admin", {user, user}), Of("muster:admin", {node}), Of("muster:node", {user}),
        Of("muster:node", {"muster://node/c001"}), Of("muster:admin", {"muster://user/"}),
        Of("muster:admin", {"muster://user/a b"}), Of("muster:admin", {"https://x"})}) {
    EXPECT_EQ(identity.status().code(), absl::StatusCode::kUnauthenticated);
  }
}

TEST(Validation, CleansDescriptions) {
  EXPECT_EQ(CleanDescription("a\x1b[31m\nb"), "a?[31m?b");
  EXPECT_EQ(CleanDescription(std::string(1000, 'x')).size(), 256u);
}

}  // namespace
}  // namespace muster::controller
