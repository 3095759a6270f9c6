#include "controller/service/authorization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

constexpr AuthorizationRow kTable[] = {
    {"/muster.v1.AgentSessionService/Connect", Audience::kNodes},
    {"/muster.v1.AgentSessionService/FetchBlob", Audience::kNodes},
    {"/muster.v1.AgentSessionService/RenewCertificate", Audience::kNodes},

    {"/muster.v1.ArtifactService/HasBundle", Audience::kOperators},
    {"/muster.v1.ArtifactService/UploadBundle", Audience::kOperators},

    {"/muster.v1.EnrollmentService/Enroll", Audience::kStrangers},
    {"/muster.v1.EnrollmentService/GetEnrollment", Audience::kStrangers},

    // The audit log names people and addresses.
    {"/muster.v1.EventService/ListEvents", Audience::kOperators},
    {"/muster.v1.EventService/VerifyEvents", Audience::kOperators},

    {"/muster.v1.ExplainService/ExplainStep", Audience::kViewers},
    {"/muster.v1.ExplainService/ExplainVariable", Audience::kViewers},

    {"/muster.v1.HardwareService/LearnHardware", Audience::kOperators},
    {"/muster.v1.HardwareService/ReadHardware", Audience::kViewers},

    {"/muster.v1.InventoryService/ApplyInventory", Audience::kAdmins},
    {"/muster.v1.InventoryService/CheckInventory", Audience::kOperators},
    {"/muster.v1.InventoryService/DiffInventory", Audience::kOperators},
    {"/muster.v1.InventoryService/GetInventory", Audience::kViewers},

    {"/muster.v1.NodeService/ApproveNode", Audience::kAdmins},
    {"/muster.v1.NodeService/GetNode", Audience::kViewers},
    {"/muster.v1.NodeService/GetNodeFacts", Audience::kViewers},
    {"/muster.v1.NodeService/GetStatus", Audience::kViewers},
    {"/muster.v1.NodeService/ListNodes", Audience::kViewers},
    {"/muster.v1.NodeService/RemoveNode", Audience::kAdmins},

    {"/muster.v1.RunService/CancelRun", Audience::kOperators},
    {"/muster.v1.RunService/CreateRun", Audience::kOperators},
    {"/muster.v1.RunService/GetRun", Audience::kViewers},
    {"/muster.v1.RunService/ListRuns", Audience::kViewers},
    {"/muster.v1.RunService/ListStepResults", Audience::kViewers},
    {"/muster.v1.RunService/WatchRun", Audience::kViewers},

    {"/muster.v1.SecretService/AdvanceRotation", Audience::kAdmins},
    {"/muster.v1.SecretService/GenerateSecret", Audience::kAdmins},
    {"/muster.v1.SecretService/ListSecrets", Audience::kAdmins},
    {"/muster.v1.SecretService/RotateSecret", Audience::kAdmins},
    {"/muster.v1.SecretService/SetSecret", Audience::kAdmins},

    {"/muster.v1.TokenService/CreateToken", Audience::kAdmins},
    {"/muster.v1.TokenService/ListTokens", Audience::kAdmins},
    {"/muster.v1.TokenService/RevokeToken", Audience::kAdmins},

    {"/muster.v1.UserService/CreateUser", Audience::kAdmins},
    {"/muster.v1.UserService/ListUsers", Audience::kAdmins},
    {"/muster.v1.UserService/RevokeUser", Audience::kAdmins},

    {"/muster.v1.ValidationService/CancelValidation", Audience::kOperators},
    {"/muster.v1.ValidationService/CreateValidation", Audience::kOperators},
    {"/muster.v1.ValidationService/GetValidation", Audience::kViewers},
    {"/muster.v1.ValidationService/ListCheckResults", Audience::kViewers},
    {"/muster.v1.ValidationService/ListValidations", Audience::kViewers},
    {"/muster.v1.ValidationService/WatchValidation", Audience::kViewers},
};

struct Permission {
  Audience audience;
  Role role;
};
constexpr Permission kPermissions[] = {
    {Audience::kViewers, Role::kViewer},  {Audience::kViewers, Role::kOperator},
    {Audience::kViewers, Role::kAdmin},   {Audience::kOperators, Role::kOperator},
    {Audience::kOperators, Role::kAdmin}, {Audience::kAdmins, Role::kAdmin},
    {Audience::kNodes, Role::kNode},
};

constexpr absl::string_view kWords[] = {"viewers, operators and admins", "operators and admins",
                                        "admins", "nodes", "machines that join"};

}  // namespace

absl::Span<const AuthorizationRow> AuthorizationTable() { return kTable; }

bool IsForNodes(absl::string_view rpc) {
  return std::any_of(std::begin(kTable), std::end(kTable), [&](const AuthorizationRow& each) {
    return each.rpc == rpc && each.audience == Audience::kNodes;
  });
}

absl::Status Authorize(absl::string_view rpc, const Identity& identity) {
  const auto row = std::find_if(std::begin(kTable), std::end(kTable),
                                [&](const AuthorizationRow& each) { return each.rpc == rpc; });
  if (row == std::end(kTable))
    return absl::PermissionDeniedError("this call is not in the authorization table");
  const bool is_allowed =
      std::any_of(std::begin(kPermissions), std::end(kPermissions), [&](const Permission& each) {
        return each.audience == row->audience && each.role == identity.role;
      });
  if (is_allowed) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(identity.Actor(), " may not call ", rpc.substr(rpc.rfind('/') + 1), ": only ",
                   kWords[static_cast<size_t>(row->audience)], " may"));
}

}  // namespace muster::controller
