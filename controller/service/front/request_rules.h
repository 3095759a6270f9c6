// Checks of requests before anything is done. Pure. Errors: InvalidArgument.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class ChangePowerRequest;
class ClearBootRequest;
class CreateRolloutRequest;
class ClearConditionRequest;
class CreateSilenceRequest;
class CreateTokenRequest;
class DrainNodesRequest;
class InventoryFile;
class ReadConsoleRequest;
class ReadPowerRequest;
class RemoveNodeRequest;
class ResumeNodesRequest;
class RunCommandRequest;
class SetBootRequest;
}  // namespace muster::v1

namespace muster::controller {

// The most that the files of a request take together, as for an inventory.
inline constexpr size_t kMaxSiteBytes = 8 << 20;

// The YAML files of a site (path → content), each directly in one of `folders`,
// "playbooks/stacks/".
absl::StatusOr<std::map<std::string, std::string>> SiteFiles(
    const google::protobuf::RepeatedPtrField<v1::InventoryFile>& files,
    const std::vector<std::string>& folders);

// Expands a host list of at least one name.
absl::StatusOr<std::vector<std::string>> NodeNames(absl::string_view hostlist);

// The token's lifetime; the default where none was given.
absl::StatusOr<absl::Duration> TokenTtl(const v1::CreateTokenRequest& request);

absl::Status Validate(const v1::ChangePowerRequest& request);
absl::Status Validate(const v1::ClearBootRequest& request);
absl::Status Validate(const v1::CreateRolloutRequest& request);
absl::Status Validate(const v1::ClearConditionRequest& request);
absl::Status Validate(const v1::CreateSilenceRequest& request);
absl::Status Validate(const v1::DrainNodesRequest& request);
absl::Status Validate(const v1::ReadConsoleRequest& request);
absl::Status Validate(const v1::ReadPowerRequest& request);
absl::Status Validate(const v1::RemoveNodeRequest& request);
absl::Status Validate(const v1::ResumeNodesRequest& request);
absl::Status Validate(const v1::RunCommandRequest& request);
absl::Status Validate(const v1::SetBootRequest& request);

}  // namespace muster::controller
