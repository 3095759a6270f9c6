#include "controller/power/redfish/redfish_answer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/text/plain_text.h"
#include "common/value/json_text.h"

namespace muster::controller::power {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxPath = 256;
constexpr size_t kMaxSystems = 64;
constexpr size_t kMaxResetTypes = 32;
constexpr size_t kMaxWord = 64;
constexpr size_t kMaxEtag = 128;
constexpr size_t kMaxMessage = 200;

absl::Status NotRedfish(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("its answer is not Redfish's: ", what,
                   "; check bmc_address and bmc_port, and that Redfish is turned on in the BMC"));
}

// Discarded: it is not JSON, or too large, or nested too deep.
json Parse(absl::string_view body) {
  if (body.size() > kMaxRedfishAnswer) return json(json::value_t::discarded);
  return ParseJson<json>(body, kMaxDepth).value_or(json(json::value_t::discarded));
}

// nullptr: it has no such member.
const json* Find(const json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

std::string TextAt(const json& value, const char* key) {
  const json* const found = Find(value, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

RedfishBoot BootOf(const json& value) {
  RedfishBoot described;
  if (const json* const boot = Find(value, "Boot"); boot != nullptr) {
    described.is_described = true;
    described.can_override = Find(*boot, "BootSourceOverrideTarget") != nullptr;
    described.has_mode = Find(*boot, "BootSourceOverrideMode") != nullptr;
  }
  std::string etag = TextAt(value, "@odata.etag");
  const bool is_plain =
      etag.size() <= kMaxEtag && std::all_of(etag.begin(), etag.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      });
  if (is_plain) described.etag = std::move(etag);
  return described;
}

// "1" of "/redfish/v1/Systems/1/".
absl::string_view IdOf(absl::string_view path) {
  absl::ConsumeSuffix(&path, "/");
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

bool IsRedfishPath(absl::string_view path) {
  return path.size() <= kMaxPath && absl::StartsWith(path, "/redfish/") &&
         !absl::StrContains(path, "//") && !absl::StrContains(path, "/..") &&
         std::all_of(path.begin(), path.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  absl::StrContains("/._-~:%", c);
         });
}

absl::StatusOr<std::string> ParseRedfishRoot(absl::string_view body) {
  const json root = Parse(body);
  const json* const systems = Find(root, "Systems");
  const std::string path = systems == nullptr ? "" : TextAt(*systems, "@odata.id");
  if (!IsRedfishPath(path)) return NotRedfish("it does not say where its systems are");
  return path;
}

absl::StatusOr<std::string> ParseRedfishSystems(absl::string_view body, absl::string_view id) {
  const json collection = Parse(body);
  const json* const members = Find(collection, "Members");
  if (members == nullptr || !members->is_array() || members->size() > kMaxSystems)
    return NotRedfish("it has no list of systems");
  std::vector<std::string> paths, ids;
  for (const json& member : *members) {
    const std::string path = TextAt(member, "@odata.id");
    if (!IsRedfishPath(path)) return NotRedfish("a system has no path");
    if (!id.empty() && IdOf(path) == id) return path;
    paths.push_back(path);
    ids.emplace_back(IdOf(path));
  }
  if (id.empty() && paths.size() == 1) return paths.front();
  if (paths.empty()) return absl::FailedPreconditionError("it manages no system");
  return absl::FailedPreconditionError(absl::StrCat(
      id.empty() ? "it manages several systems" : absl::StrCat("it manages no system ", id), ": ",
      absl::StrJoin(ids, ", "), "; set the variable bmc_system of the node to the right one"));
}

absl::StatusOr<RedfishSystem> ParseRedfishSystem(absl::string_view body) {
  const json value = Parse(body);
  if (!value.is_object()) return NotRedfish("it is not an object in JSON");
  if (Find(value, "PowerState") == nullptr) return NotRedfish("it has no PowerState");
  RedfishSystem system;
  const std::string state = TextAt(value, "PowerState");
  // On the way on (PoweringOn) it draws power already; on the way off it may still run.
  if (state == "On") system.state = PowerState::kOn;
  if (state == "Off") system.state = PowerState::kOff;
  if (const json* const actions = Find(value, "Actions"); actions != nullptr) {
    if (const json* const reset = Find(*actions, "#ComputerSystem.Reset"); reset != nullptr) {
      const std::string target = TextAt(*reset, "target");
      if (!IsRedfishPath(target)) return NotRedfish("its reset has no path");
      system.reset_path = target;
      const json* const types = Find(*reset, "ResetType@Redfish.AllowableValues");
      if (types != nullptr && types->is_array() && types->size() <= kMaxResetTypes) {
        for (const json& type : *types) {
          if (type.is_string() && type.get_ref<const std::string&>().size() <= kMaxWord)
            system.reset_types.insert(type.get<std::string>());
        }
      }
    }
  }
  if (Find(value, "LocationIndicatorActive") != nullptr) {
    system.light = RedfishLight::kLocationIndicator;
  } else if (Find(value, "IndicatorLED") != nullptr) {
    system.light = RedfishLight::kIndicatorLed;
  }
  system.boot = BootOf(value);
  if (const json* const settings = Find(value, "@Redfish.Settings"); settings != nullptr) {
    const json* const object = Find(*settings, "SettingsObject");
    const std::string path = object == nullptr ? "" : TextAt(*object, "@odata.id");
    if (IsRedfishPath(path)) system.settings_path = path;
  }
  return system;
}

RedfishBoot ParseRedfishBoot(absl::string_view body) { return BootOf(Parse(body)); }

std::string ParseRedfishError(absl::string_view body) {
  const json value = Parse(body);
  const json* const error = Find(value, "error");
  if (error == nullptr) return "";
  std::string message = TextAt(*error, "message");
  // The general message says little where there are special ones.
  const json* const details = Find(*error, "@Message.ExtendedInfo");
  if (details != nullptr && details->is_array() && !details->empty()) {
    const std::string special = TextAt((*details)[0], "Message");
    if (!special.empty()) message = special;
  }
  return PlainText(absl::StripAsciiWhitespace(message), Lines::kOne, kMaxMessage);
}

}  // namespace muster::controller::power
