#include "controller/power/redfish/redfish_bmc.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace muster::controller::power {
namespace {

// The one path that all services have.
constexpr char kRoot[] = "/redfish/v1/";

// Redfish's words for a change, the preferred one first.
struct ResetRow {
  PowerChange change;
  const char* words[2];
};
constexpr ResetRow kResets[] = {
    {PowerChange::kOn, {"On", "ForceOn"}},
    {PowerChange::kOff, {"ForceOff", "ForceOff"}},
    {PowerChange::kSoftOff, {"GracefulShutdown", "PushPowerButton"}},
    {PowerChange::kReset, {"ForceRestart", "ForceRestart"}},
};

const char* TargetOf(BootDevice device) {
  switch (device) {
    case BootDevice::kPxe:
      return "Pxe";
    case BootDevice::kDisk:
      return "Hdd";
    case BootDevice::kBios:
      return "BiosSetup";
    case BootDevice::kDefault:
      break;
  }
  return "None";
}

absl::Status StatusFault(long status, absl::string_view words) {
  const std::string said = absl::StrCat("it answered ", status, words.empty() ? "" : ": ", words);
  if (status == 401)
    return absl::UnauthenticatedError(absl::StrCat(
        said,
        "; the user or the password is wrong: check bmc_user, and set the password anew by "
        "`muster secret set`"));
  if (status == 403)
    return absl::FailedPreconditionError(
        absl::StrCat(said, "; bmc_user lacks the right: give it the role Operator in the BMC"));
  if (status >= 300 && status <= 399)
    return absl::FailedPreconditionError(
        absl::StrCat(said, "; redirects are not followed: correct bmc_address or bmc_port"));
  if (status == 404)
    return absl::FailedPreconditionError(
        absl::StrCat(said, "; check that Redfish is turned on in the BMC, and bmc_system"));
  if (status == 429 || status >= 500)
    return absl::UnavailableError(absl::StrCat(said, "; the BMC is busy or broken: try again"));
  return absl::FailedPreconditionError(absl::StrCat(said, "; the BMC refuses the order"));
}

}  // namespace

RedfishBmc::RedfishBmc(BmcAccess access, SecretBuffer password, Cancelled cancelled,
                       HttpsLimits limits)
    : access_(std::move(access)),
      password_(std::move(password)),
      cancelled_(std::move(cancelled)),
      limits_(limits) {}

absl::StatusOr<std::string> RedfishBmc::Ask(const std::string& method, const std::string& path,
                                            const std::string& body, const std::string& if_match) {
  const bool is_ipv6 = absl::StrContains(access_.address, ':');
  HttpsCall call;
  call.method = method;
  call.url = absl::StrCat("https://", is_ipv6 ? "[" : "", access_.address, is_ipv6 ? "]" : "", ":",
                          access_.port, path);
  call.user = access_.user;
  call.password = &password_;
  call.body = body;
  call.if_match = if_match;
  call.max_answer = kMaxRedfishAnswer;
  ASSIGN_OR_RETURN(
      HttpsAnswer answer,
      CallHttps(call, {access_.certificate, access_.ca, access_.is_verified}, cancelled_, limits_));
  if (answer.status >= 200 && answer.status <= 299) return std::move(answer.body);
  std::string words = ParseRedfishError(answer.body);
  // A BMC that repeats what it was sent must not carry the password into a log.
  if (password_.size() > 0 && absl::StrContains(words, password_.Reveal())) words.clear();
  return StatusFault(answer.status, words);
}

// Some services change nothing for those who do not say which state they have seen. Some take only
// the etag for that, and some only "*": their etag is another one with each answer.
absl::Status RedfishBmc::Patch(const std::string& path, const std::string& etag,
                               const std::string& body) {
  absl::Status changed;
  if (!etag.empty()) {
    changed = Ask("PATCH", path, body, etag).status();
    if (!absl::IsFailedPrecondition(changed)) return changed;
  }
  const absl::Status any = Ask("PATCH", path, body, "*").status();
  return any.ok() || changed.ok() ? any : changed;
}

absl::StatusOr<RedfishSystem> RedfishBmc::System() {
  if (system_path_.empty()) {
    ASSIGN_OR_RETURN(const std::string root, Ask("GET", kRoot));
    ASSIGN_OR_RETURN(const std::string collection, ParseRedfishRoot(root));
    ASSIGN_OR_RETURN(const std::string systems, Ask("GET", collection));
    ASSIGN_OR_RETURN(system_path_, ParseRedfishSystems(systems, access_.system));
  }
  ASSIGN_OR_RETURN(const std::string body, Ask("GET", system_path_));
  return ParseRedfishSystem(body);
}

absl::StatusOr<PowerState> RedfishBmc::State() {
  ASSIGN_OR_RETURN(const RedfishSystem system, System());
  return system.state;
}

absl::Status RedfishBmc::Change(PowerChange change) {
  ASSIGN_OR_RETURN(const RedfishSystem system, System());
  if (system.reset_path.empty())
    return absl::FailedPreconditionError(
        "it offers no reset of its system; give bmc_user the role Operator in the BMC");
  const auto row = std::find_if(std::begin(kResets), std::end(kResets),
                                [&](const ResetRow& each) { return each.change == change; });
  for (const char* word : row->words) {
    if (!system.reset_types.empty() && system.reset_types.count(word) == 0) continue;
    return Ask("POST", system.reset_path, nlohmann::json{{"ResetType", word}}.dump()).status();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("it does not know the reset ", row->words[0], "; use another verb"));
}

absl::StatusOr<std::vector<RedfishBmc::BootPlace>> RedfishBmc::BootPlaces() {
  ASSIGN_OR_RETURN(const RedfishSystem system, System());
  std::vector<BootPlace> places;
  if (system.boot.can_override) places.push_back({system_path_, system.boot});
  if (system.settings_path.empty()) return places;
  const absl::StatusOr<std::string> settings = Ask("GET", system.settings_path);
  if (absl::IsFailedPrecondition(settings.status())) return places;
  RETURN_IF_ERROR(settings.status());
  BootPlace later{system.settings_path, ParseRedfishBoot(*settings)};
  if (later.boot.can_override) {
    places.insert(places.begin(), std::move(later));
  } else if (later.boot.is_described) {
    later.boot.has_mode = system.boot.has_mode;
    places.push_back(std::move(later));
  }
  return places;
}

absl::Status RedfishBmc::SetBoot(const BootPlace& place, BootDevice device) {
  nlohmann::json body = {
      {"Boot",
       {{"BootSourceOverrideEnabled", "Once"}, {"BootSourceOverrideTarget", TargetOf(device)}}}};
  const std::string without_mode = body.dump();
  if (!place.boot.has_mode) return Patch(place.path, place.boot.etag, without_mode);
  // Supermicro's BMCs refuse a device without its mode, or take Legacy for it; HPE's show the mode
  // and refuse to have it set.
  body["Boot"]["BootSourceOverrideMode"] = "UEFI";
  absl::Status set = Patch(place.path, place.boot.etag, body.dump());
  if (absl::IsFailedPrecondition(set) && Patch(place.path, place.boot.etag, without_mode).ok())
    return absl::OkStatus();
  return set;
}

absl::Status RedfishBmc::BootOnce(BootDevice device) {
  ASSIGN_OR_RETURN(const std::vector<BootPlace> places, BootPlaces());
  std::vector<std::string> refusals;
  for (const BootPlace& place : places) {
    const absl::Status set = SetBoot(place, device);
    if (!absl::IsFailedPrecondition(set)) return set;
    refusals.push_back(absl::StrCat(place.path, ": ", set.message()));
  }
  return absl::FailedPreconditionError(refusals.empty() ? "it offers no boot device for one boot"
                                                        : absl::StrJoin(refusals, "; "));
}

absl::Status RedfishBmc::Identify(bool is_on) {
  ASSIGN_OR_RETURN(const RedfishSystem system, System());
  if (system.light == RedfishLight::kNone)
    return absl::FailedPreconditionError("it offers no light that shows where its machine stands");
  const nlohmann::json body = system.light == RedfishLight::kLocationIndicator
                                  ? nlohmann::json{{"LocationIndicatorActive", is_on}}
                                  : nlohmann::json{{"IndicatorLED", is_on ? "Blinking" : "Off"}};
  return Patch(system_path_, system.boot.etag, body.dump());
}

}  // namespace muster::controller::power
