// Rotations of secrets: which nodes take part, and whether a run has done its share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/run/collaborators.h"
#include "controller/secret/secret_store.h"

namespace muster::v1 {
class AdvanceRotationRequest;
class AdvanceRotationResponse;
class RotateSecretRequest;
class RotateSecretResponse;
class SecretRotation;
}  // namespace muster::v1

namespace muster::controller {

// The tags of the two halves of a rotation's playbook. Each half is a run of its own; the second
// begins only after the first has succeeded on every node.
inline constexpr char kStageTag[] = "stage";
inline constexpr char kSwitchTag[] = "switch";

// "rotate_munge_key.yaml", next to the site's playbook.
std::string RotationPlaybook(absl::string_view site_playbook, absl::string_view secret);

v1::SecretRotation ToProto(const RotationRecord& rotation);

// Thread-safe. The driver of a rotation creates its runs; this class decides which nodes take part
// and when the next phase may begin. Compiles the site, which takes seconds in a large cluster.
class SecretRotations {
 public:
  // `secrets` and the collaborators must outlive the object.
  SecretRotations(RunCollaborators collaborators, SecretStore& secrets)
      : with_(std::move(collaborators)), secrets_(secrets) {}

  // FailedPrecondition: a node that uses the secret is not connected, or the rotation's playbook
  // does not cover it.
  absl::StatusOr<v1::RotateSecretResponse> Rotate(const v1::RotateSecretRequest& request,
                                                  const Actor& actor);
  // FailedPrecondition: the run does not belong to the phase, or has not succeeded.
  absl::StatusOr<v1::AdvanceRotationResponse> Advance(const v1::AdvanceRotationRequest& request,
                                                      const Actor& actor);
  // The places where the most recently applied site calls secret('NAME'):
  // "roles/munge/tasks/main.yaml:6", a few of them. Empty: there are none, or nothing was applied
  // yet.
  absl::StatusOr<std::vector<std::string>> PlacesOf(const std::string& name);

 private:
  // The users of a secret, and which of them can take part.
  struct Users {
    std::map<std::string, std::vector<std::string>> nodes_of_role;
    std::vector<std::string> connected;
    std::vector<std::string> missing;
    bool has_playbook = false;
  };
  absl::StatusOr<Users> FindUsers(const v1::RotateSecretRequest& request,
                                  const std::string& playbook);
  absl::Status Sort(const std::vector<std::string>& users, Users& found);
  absl::StatusOr<uint32_t> VersionOf(const std::string& name);

  const RunCollaborators with_;
  SecretStore& secrets_;
};

}  // namespace muster::controller
