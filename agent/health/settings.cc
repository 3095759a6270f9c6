#include "agent/health/settings.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/command/command_run.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/health.pb.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr int kMaxXid = 9999;
constexpr absl::Duration kShortestInterval = absl::Seconds(10);
constexpr absl::Duration kLongestInterval = absl::Hours(24);
constexpr absl::Duration kDefaultInterval = absl::Minutes(1);
constexpr absl::Duration kLongestLimit = absl::Minutes(10);
constexpr absl::Duration kDefaultLimit = absl::Seconds(30);

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && absl::ascii_islower(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

absl::Duration ClampOr(absl::Duration given, absl::Duration least, absl::Duration most,
                       absl::Duration otherwise) {
  return given <= absl::ZeroDuration() ? otherwise : std::clamp(given, least, most);
}

absl::StatusOr<SiteCondition> ReadSite(const v1::SiteCondition& message) {
  if (!IsName(message.name()))
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CHexEscape(message.name()), "' cannot name a condition"));
  if (muster::health::FindCondition(message.name()) != nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("the site's condition ", message.name(), " has a name of the catalogue"));
  SiteCondition site = {.name = message.name(),
                        .argv = {message.argv().begin(), message.argv().end()},
                        .interval = ClampOr(ToDuration(message.interval()), kShortestInterval,
                                            kLongestInterval, kDefaultInterval),
                        .time_limit = ClampOr(ToDuration(message.time_limit()), absl::Seconds(1),
                                              kLongestLimit, kDefaultLimit),
                        .severity = message.severity() == v1::CONDITION_SEVERITY_FATAL
                                        ? muster::health::Severity::kFatal
                                        : muster::health::Severity::kWarning};
  RETURN_IF_ERROR(
      Annotate(CheckCommand(SiteCommand(site)), absl::StrCat("the site's condition ", site.name)));
  return site;
}

}  // namespace

v1::StartCommand SiteCommand(const SiteCondition& site) {
  v1::StartCommand command;
  // Part of a unit's name.
  std::string id = absl::StrCat("health-", site.name);
  std::replace(id.begin(), id.end(), '_', '-');
  command.set_command_id(id.substr(0, 64));
  for (const std::string& argument : site.argv) command.add_argv(argument);
  *command.mutable_time_limit() = ToProtoDuration(site.time_limit);
  return command;
}

Settings ReadSettings(const v1::HealthSettings& message, std::vector<std::string>& refused) {
  Settings settings;
  settings.limits = muster::health::Limits::Parse(
      std::map<std::string, std::string>(message.limits().begin(), message.limits().end()),
      refused);
  for (const std::string& name : message.disabled()) {
    if (muster::health::FindCondition(name) != nullptr) {
      settings.disabled.insert(name);
    } else {
      refused.push_back(
          absl::StrCat("there is no condition '", absl::CHexEscape(name), "' to disable"));
    }
  }
  for (const auto& [xid, word] : message.xid_actions()) {
    const auto action = muster::health::XidActionOf(word);
    if (xid <= kMaxXid && action.has_value()) {
      settings.xid_actions[static_cast<int>(xid)] = *action;
    } else {
      refused.push_back(
          absl::StrCat("'", absl::CHexEscape(word), "' is not an action for Xid ", xid));
    }
  }
  std::set<std::string> names;
  for (const v1::SiteCondition& given : message.conditions()) {
    absl::StatusOr<SiteCondition> site = ReadSite(given);
    if (!site.ok()) {
      refused.emplace_back(site.status().message());
    } else if (settings.sites.size() >= kMaxSiteConditions || !names.insert(site->name).second) {
      refused.push_back(
          absl::StrCat("the site's condition ", site->name, " is one of too many, or there twice"));
    } else {
      settings.sites.push_back(*std::move(site));
    }
  }
  return settings;
}

}  // namespace muster::agent::health
