#include "controller/service/front/authorization.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

constexpr AuthorizationRow kTable[] = {
    {"/muster.v1.AgentSessionService/Connect", Audience::kNodes, ""},
    {"/muster.v1.AgentSessionService/FetchBlob", Audience::kNodes, ""},
    {"/muster.v1.AgentSessionService/RenewCertificate", Audience::kNodes, ""},

    {"/muster.v1.ArtifactService/ApproveBundle", Audience::kAdmins, "bundle approve"},
    {"/muster.v1.ArtifactService/GetBundle", Audience::kOperators, "bundle show"},
    {"/muster.v1.ArtifactService/HasBundle", Audience::kOperators, "apply"},
    {"/muster.v1.ArtifactService/ListBundles", Audience::kOperators, "bundle list"},
    {"/muster.v1.ArtifactService/RevokeBundle", Audience::kAdmins, "bundle revoke"},
    {"/muster.v1.ArtifactService/UploadBundle", Audience::kOperators, "apply"},

    {"/muster.v1.AuthorityService/GetAuthority", Audience::kAdmins, "ca status"},

    {"/muster.v1.BootService/ClearBoot", Audience::kOperators, "boot clear"},
    {"/muster.v1.BootService/ListBoots", Audience::kViewers, "boot show"},
    // Addresses of machines that nobody knows.
    {"/muster.v1.BootService/ListUnknownMachines", Audience::kOperators, "node discover list"},
    // Only what administrators have uploaded can be chosen.
    {"/muster.v1.BootService/SetBoot", Audience::kOperators, "boot set"},

    // Root on every node at once, past all approved playbooks.
    {"/muster.v1.CommandService/RunCommand", Audience::kAdmins, "exec"},

    {"/muster.v1.DriftService/CompareNodes", Audience::kViewers, "node compare"},
    {"/muster.v1.DriftService/ListDrift", Audience::kViewers, "drift"},

    {"/muster.v1.EnrollmentService/Enroll", Audience::kStrangers, ""},
    {"/muster.v1.EnrollmentService/GetDiskOrder", Audience::kStrangers, ""},
    {"/muster.v1.EnrollmentService/GetEnrollment", Audience::kStrangers, ""},
    {"/muster.v1.EnrollmentService/RequestToken", Audience::kStrangers, ""},

    // The audit log names people and addresses.
    {"/muster.v1.EventService/ListEvents", Audience::kOperators, "audit list"},
    {"/muster.v1.EventService/VerifyEvents", Audience::kOperators, "audit verify"},

    {"/muster.v1.ExplainService/ExplainStep", Audience::kViewers, "explain step"},
    {"/muster.v1.ExplainService/ExplainVariable", Audience::kViewers, "explain var"},

    {"/muster.v1.HardwareService/LearnHardware", Audience::kOperators, "hardware learn"},
    {"/muster.v1.HardwareService/ReadHardware", Audience::kViewers, "hardware show"},

    {"/muster.v1.HealthService/ClearCondition", Audience::kOperators, "health clear"},
    {"/muster.v1.HealthService/CreateSilence", Audience::kOperators, "silence add"},
    {"/muster.v1.HealthService/DeleteSilence", Audience::kOperators, "silence remove"},
    {"/muster.v1.HealthService/ListConditionHistory", Audience::kViewers, "health history"},
    {"/muster.v1.HealthService/ListHealth", Audience::kViewers, "health"},
    {"/muster.v1.HealthService/ListSilences", Audience::kViewers, "silence list"},

    {"/muster.v1.ImageService/DeleteImage", Audience::kAdmins, "image delete"},
    {"/muster.v1.ImageService/GetImage", Audience::kViewers, "image show"},
    // It makes the artifact stay for a while.
    {"/muster.v1.ImageService/HasArtifact", Audience::kAdmins, "image import"},
    {"/muster.v1.ImageService/KeepImage", Audience::kAdmins, "image import"},
    {"/muster.v1.ImageService/KeepSigned", Audience::kAdmins, "image sign"},
    {"/muster.v1.ImageService/ListImages", Audience::kViewers, "image list"},
    {"/muster.v1.ImageService/PinImage", Audience::kAdmins, "image pin"},
    {"/muster.v1.ImageService/PlanImage", Audience::kAdmins, "image build"},
    {"/muster.v1.ImageService/PlanSigning", Audience::kAdmins, "image sign"},
    {"/muster.v1.ImageService/ReadAgentPackage", Audience::kAdmins, "image build"},
    {"/muster.v1.ImageService/ReadArtifact", Audience::kViewers, "image export"},
    {"/muster.v1.ImageService/UploadArtifact", Audience::kAdmins, "image import"},
    {"/muster.v1.ImageService/VerifyImage", Audience::kViewers, "image verify"},

    {"/muster.v1.InventoryService/ApplyInventory", Audience::kAdmins, "inventory apply"},
    {"/muster.v1.InventoryService/CheckInventory", Audience::kOperators, "inventory check"},
    {"/muster.v1.InventoryService/DiffInventory", Audience::kOperators, "inventory diff"},
    {"/muster.v1.InventoryService/GetInventory", Audience::kViewers, "inventory show"},

    {"/muster.v1.NodeService/ApproveNode", Audience::kAdmins, "node approve"},
    {"/muster.v1.NodeService/DrainNodes", Audience::kOperators, "node drain"},
    {"/muster.v1.NodeService/GetNode", Audience::kViewers, "node show"},
    {"/muster.v1.NodeService/GetNodeFacts", Audience::kViewers, "node facts"},
    {"/muster.v1.NodeService/GetStatus", Audience::kViewers, "status"},
    {"/muster.v1.NodeService/ListNodeJobs", Audience::kOperators, "apply"},
    {"/muster.v1.NodeService/ListNodes", Audience::kViewers, "node list"},
    {"/muster.v1.NodeService/RemoveNode", Audience::kAdmins, "node remove"},
    {"/muster.v1.NodeService/ResumeNodes", Audience::kOperators, "node resume"},

    // Receivers' addresses and words; and a test sends something to people outside.
    {"/muster.v1.NotificationService/ListNotificationChannels", Audience::kOperators,
     "notify list"},
    {"/muster.v1.NotificationService/TestNotificationChannel", Audience::kOperators, "notify test"},

    {"/muster.v1.PowerService/ChangePower", Audience::kOperators, "power"},
    // Whatever the machine shows to somebody who stands before it.
    {"/muster.v1.PowerService/ReadConsole", Audience::kOperators, "power console"},
    // BMCs are slow, and lock out those who ask too often.
    {"/muster.v1.PowerService/ReadPower", Audience::kOperators, "power status"},

    {"/muster.v1.ReadingService/GetReadings", Audience::kViewers, "top"},

    {"/muster.v1.RolloutService/AbortRollout", Audience::kOperators, "rollout abort"},
    {"/muster.v1.RolloutService/CreateRollout", Audience::kOperators, "update"},
    {"/muster.v1.RolloutService/ExplainRolloutNode", Audience::kViewers, "rollout explain"},
    {"/muster.v1.RolloutService/GetRollout", Audience::kViewers, "rollout show"},
    {"/muster.v1.RolloutService/ListRollouts", Audience::kViewers, "rollout list"},
    {"/muster.v1.RolloutService/ListUpdatePolicies", Audience::kViewers, "rollout policies"},
    {"/muster.v1.RolloutService/PauseRollout", Audience::kOperators, "rollout pause"},
    {"/muster.v1.RolloutService/PreviewRollout", Audience::kOperators, "update"},
    {"/muster.v1.RolloutService/ResumeRollout", Audience::kOperators, "rollout resume"},
    {"/muster.v1.RolloutService/RollBackRollout", Audience::kOperators, "rollout rollback"},
    {"/muster.v1.RolloutService/WatchRollout", Audience::kViewers, "rollout watch"},

    {"/muster.v1.RunService/CancelRun", Audience::kOperators, "run cancel"},
    {"/muster.v1.RunService/CreateRun", Audience::kOperators, "apply"},
    {"/muster.v1.RunService/GetRun", Audience::kViewers, "run show"},
    {"/muster.v1.RunService/ListRuns", Audience::kViewers, "run list"},
    {"/muster.v1.RunService/ListStepResults", Audience::kViewers, "run show"},
    {"/muster.v1.RunService/PreviewRun", Audience::kOperators, "apply"},
    {"/muster.v1.RunService/WatchRun", Audience::kViewers, "run watch"},

    {"/muster.v1.SecretService/AdvanceRotation", Audience::kAdmins, "secret rotate"},
    {"/muster.v1.SecretService/GenerateSecret", Audience::kAdmins, "secret generate"},
    {"/muster.v1.SecretService/ListSecrets", Audience::kAdmins, "secret list"},
    {"/muster.v1.SecretService/RemoveSecret", Audience::kAdmins, "secret remove"},
    {"/muster.v1.SecretService/RotateSecret", Audience::kAdmins, "secret rotate"},
    {"/muster.v1.SecretService/SetSecret", Audience::kAdmins, "secret set"},
    {"/muster.v1.SecretService/SetSecretRoles", Audience::kAdmins, "secret roles"},

    {"/muster.v1.SnapshotService/CreateSnapshot", Audience::kAdmins, "snapshot create"},
    {"/muster.v1.SnapshotService/DiffSnapshots", Audience::kViewers, "snapshot diff"},
    {"/muster.v1.SnapshotService/GetSnapshot", Audience::kViewers, "snapshot show"},
    {"/muster.v1.SnapshotService/ListSnapshots", Audience::kViewers, "snapshot list"},
    {"/muster.v1.SnapshotService/RemoveSnapshot", Audience::kAdmins, "snapshot remove"},

    {"/muster.v1.StackService/CheckStacks", Audience::kViewers, "stack check"},
    {"/muster.v1.StackService/DiffStacks", Audience::kViewers, "stack diff"},
    {"/muster.v1.StackService/ReadStacks", Audience::kViewers, "stack show"},

    // Without the audit log's addresses, secrets and commands.
    {"/muster.v1.TimelineService/ListTimeline", Audience::kViewers, "event list"},
    {"/muster.v1.TimelineService/WatchTimeline", Audience::kViewers, "event watch"},

    {"/muster.v1.TokenService/CreateToken", Audience::kAdmins, "token create"},
    {"/muster.v1.TokenService/ListTokens", Audience::kAdmins, "token list"},
    {"/muster.v1.TokenService/RevokeToken", Audience::kAdmins, "token revoke"},

    {"/muster.v1.UserService/CreateUser", Audience::kAdmins, "user create"},
    {"/muster.v1.UserService/ListUsers", Audience::kAdmins, "user list"},
    {"/muster.v1.UserService/RenewUser", Audience::kViewers, "user renew"},
    {"/muster.v1.UserService/RevokeUser", Audience::kAdmins, "user revoke"},

    {"/muster.v1.ValidationService/CancelValidation", Audience::kOperators, "validate cancel"},
    {"/muster.v1.ValidationService/CreateValidation", Audience::kOperators, "validate"},
    {"/muster.v1.ValidationService/GetValidation", Audience::kViewers, "validate show"},
    {"/muster.v1.ValidationService/ListCheckResults", Audience::kViewers, "validate report"},
    {"/muster.v1.ValidationService/ListValidations", Audience::kViewers, "validate list"},
    {"/muster.v1.ValidationService/WatchValidation", Audience::kViewers, "validate watch"},

    {"/muster.v1.WebService/CreateLogin", Audience::kViewers, "web login"},
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

// The names of an audience, worded for somebody who does not belong to it.
constexpr absl::string_view kWords[] = {"viewer, operator or administrator",
                                        "operator or administrator", "administrator", "a node",
                                        "a machine that joins"};

constexpr size_t kMaxVerbBytes = 40;

// "eve is an operator", "node 5f0c… is a node".
std::string Who(const Identity& identity) {
  switch (identity.role) {
    case Role::kNode:
      return absl::StrCat("node ", identity.name, " is a node");
    case Role::kViewer:
      return absl::StrCat(identity.name, " is a viewer");
    case Role::kOperator:
      return absl::StrCat(identity.name, " is an operator");
    case Role::kAdmin:
      return absl::StrCat(identity.name, " is an administrator");
  }
  return identity.name;
}

// The caller sets it, so it is shown only if it looks like a verb.
bool LooksLikeVerb(absl::string_view verb) {
  return !verb.empty() && verb.size() <= kMaxVerbBytes &&
         std::all_of(verb.begin(), verb.end(),
                     [](char c) { return absl::ascii_islower(c) || c == ' ' || c == '-'; });
}

}  // namespace

absl::Span<const AuthorizationRow> AuthorizationTable() { return kTable; }

bool IsForNodes(absl::string_view rpc) {
  return std::any_of(std::begin(kTable), std::end(kTable), [&](const AuthorizationRow& each) {
    return each.rpc == rpc && each.audience == Audience::kNodes;
  });
}

absl::Status Authorize(absl::string_view rpc, const Identity& identity, absl::string_view verb) {
  const auto row = std::find_if(std::begin(kTable), std::end(kTable),
                                [&](const AuthorizationRow& each) { return each.rpc == rpc; });
  if (row == std::end(kTable))
    return absl::PermissionDeniedError("this call is not in the authorization table");
  const bool is_allowed =
      std::any_of(std::begin(kPermissions), std::end(kPermissions), [&](const Permission& each) {
        return each.audience == row->audience && each.role == identity.role;
      });
  if (is_allowed) return absl::OkStatus();
  const absl::string_view asked = LooksLikeVerb(verb) ? verb
                                  : row->verb.empty() ? "this call"
                                                      : row->verb;
  return absl::PermissionDeniedError(absl::StrCat(Who(identity), "; ", asked, " needs ",
                                                  kWords[static_cast<size_t>(row->audience)]));
}

}  // namespace muster::controller
