#include "controller/service/front/request_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/command_limits.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/enrollment/enrollment.h"
#include "muster/v1/boot.pb.h"
#include "muster/v1/command.pb.h"
#include "muster/v1/enrollment.pb.h"
#include "muster/v1/health.pb.h"
#include "muster/v1/inventory.pb.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/power.pb.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxReasonBytes = 1024;
constexpr absl::Duration kShortestSilence = absl::Minutes(1);
constexpr absl::Duration kLongestSilence = absl::Hours(24 * 90);

absl::Status CheckReason(absl::string_view reason) {
  if (reason.size() <= kMaxReasonBytes) return absl::OkStatus();
  return absl::InvalidArgumentError("reason: at most 1024 bytes");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> SiteFiles(
    const google::protobuf::RepeatedPtrField<v1::InventoryFile>& files,
    const std::vector<std::string>& folders) {
  std::map<std::string, std::string> contents;
  size_t bytes = 0;
  const auto is_in = [](absl::string_view path, absl::string_view folder) {
    return absl::ConsumePrefix(&path, folder) && absl::ConsumeSuffix(&path, ".yaml") &&
           !path.empty() && path.find_first_of("/\n\r") == absl::string_view::npos;
  };
  for (const v1::InventoryFile& file : files) {
    if (std::none_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return is_in(file.path(), folder); })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", file.path(), "' is not a file of ", absl::StrJoin(folders, " or "), " with .yaml"));
    }
    if (!contents.emplace(file.path(), file.content()).second) {
      return absl::InvalidArgumentError(absl::StrCat(file.path(), " was sent twice"));
    }
    bytes += file.content().size();
  }
  if (bytes > kMaxSiteBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the files take ", bytes, " bytes, at most ", kMaxSiteBytes, " are allowed"));
  }
  return contents;
}

absl::StatusOr<std::vector<std::string>> NodeNames(absl::string_view hostlist) {
  absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(hostlist);
  if (!names.ok()) return Annotate(names.status(), "nodes");
  if (names->empty()) return absl::InvalidArgumentError("nodes: specify at least one node");
  return names;
}

absl::StatusOr<absl::Duration> TokenTtl(const v1::CreateTokenRequest& request) {
  if (!request.has_ttl()) return Enrollment::kDefaultTtl;
  const absl::Duration ttl = ToDuration(request.ttl());
  if (ttl <= absl::ZeroDuration() || ttl > Enrollment::kMaxTtl)
    return absl::InvalidArgumentError("ttl: must be above 0 and at most 7 days (168h)");
  return ttl;
}

absl::Status Validate(const v1::CreateRolloutRequest& request) {
  if (!request.plan_sha256().empty()) return absl::OkStatus();  // the plan file says the rest
  if (request.playbook().empty())
    return absl::InvalidArgumentError("no playbook specified; e.g. playbooks/site.yaml");
  if (request.bundle_sha256().empty())
    return absl::InvalidArgumentError("no bundle specified; upload the site first");
  return absl::OkStatus();
}

absl::Status Validate(const v1::RunCommandRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  if (request.argv().empty() || request.argv(0).empty())
    return absl::InvalidArgumentError(
        "argv: specify a program, e.g. `muster exec NODES -- uptime`");
  size_t bytes = 0;
  for (const std::string& argument : request.argv()) {
    bytes += argument.size();
    if (argument.find('\0') != std::string::npos)
      return absl::InvalidArgumentError("argv: an argument contains a NUL");
  }
  if (request.argv_size() > kMaxCommandArguments || bytes > kMaxCommandBytes)
    return absl::InvalidArgumentError(absl::StrCat("argv: ", request.argv_size(), " arguments of ",
                                                   bytes, " bytes; at most ", kMaxCommandArguments,
                                                   " of ", kMaxCommandBytes,
                                                   ": distribute a longer script by a playbook"));
  if (request.at_once() > kMaxCommandsAtOnce)
    return absl::InvalidArgumentError(
        absl::StrCat("at_once: at most ", kMaxCommandsAtOnce, " nodes"));
  if (!request.has_time_limit()) return absl::OkStatus();
  const absl::Duration limit = ToDuration(request.time_limit());
  if (limit >= absl::Seconds(1) && limit <= kLongestCommand) return absl::OkStatus();
  return absl::InvalidArgumentError("time_limit: from 1s to 1h");
}

absl::Status Validate(const v1::ClearConditionRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  if (request.condition().empty())
    return absl::InvalidArgumentError("condition: specify one; `muster health` shows them");
  if (absl::StripAsciiWhitespace(request.reason()).empty())
    return absl::InvalidArgumentError("reason: specify a reason; the audit log keeps it");
  return CheckReason(request.reason());
}

absl::Status Validate(const v1::CreateSilenceRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some, or all");
  if (absl::StripAsciiWhitespace(request.reason()).empty())
    return absl::InvalidArgumentError("reason: specify a reason; others see it in muster health");
  const absl::Duration length = ToDuration(request.length());
  if (length < kShortestSilence || length > kLongestSilence)
    return absl::InvalidArgumentError("length: from 1m to 2160h (90 days)");
  return CheckReason(request.reason());
}

absl::Status Validate(const v1::DrainNodesRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  if (absl::StripAsciiWhitespace(request.reason()).empty())
    return absl::InvalidArgumentError("reason: specify a reason; others see it in Slurm");
  return CheckReason(request.reason());
}

absl::Status Validate(const v1::ChangePowerRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  if (request.verb() == v1::POWER_VERB_UNSPECIFIED || !v1::PowerVerb_IsValid(request.verb()))
    return absl::InvalidArgumentError("verb: on, off, cycle, reset or identify");
  const bool goes_off =
      request.verb() == v1::POWER_VERB_OFF || request.verb() == v1::POWER_VERB_CYCLE;
  if (request.soft() && !goes_off)
    return absl::InvalidArgumentError("soft: only off and cycle can be soft");
  const bool boots = request.verb() == v1::POWER_VERB_ON ||
                     request.verb() == v1::POWER_VERB_CYCLE ||
                     request.verb() == v1::POWER_VERB_RESET;
  if (!v1::BootDevice_IsValid(request.boot_once()))
    return absl::InvalidArgumentError("boot_once: pxe, disk or bios");
  if (request.boot_once() != v1::BOOT_DEVICE_UNSPECIFIED && !boots)
    return absl::InvalidArgumentError("boot_once: only on, cycle and reset boot");
  return CheckReason(request.reason());
}

absl::Status Validate(const v1::ClearBootRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  return absl::OkStatus();
}

absl::Status Validate(const v1::SetBootRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  if (request.what().empty())
    return absl::InvalidArgumentError("what: specify disk, rescue or an image");
  return absl::OkStatus();
}

absl::Status Validate(const v1::ReadConsoleRequest& request) {
  if (request.node().empty()) return absl::InvalidArgumentError("node: specify one");
  return absl::OkStatus();
}

absl::Status Validate(const v1::ReadPowerRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  return absl::OkStatus();
}

absl::Status Validate(const v1::RemoveNodeRequest& request) {
  if (absl::StripAsciiWhitespace(request.reason()).empty())
    return absl::InvalidArgumentError("reason: specify a reason; it goes into the audit log");
  return CheckReason(request.reason());
}

absl::Status Validate(const v1::ResumeNodesRequest& request) {
  if (request.nodes().empty()) return absl::InvalidArgumentError("nodes: specify some");
  return CheckReason(request.reason());
}

}  // namespace muster::controller
