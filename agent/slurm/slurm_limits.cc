#include "agent/slurm/slurm_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

using Kind = LimitKind;

constexpr absl::string_view kNone = "-1";   // sacctmgr's word for "no limit"
constexpr int64_t kMaxNumber = 4294967293;  // above it are Slurm's words for "none" and "infinite"

std::optional<std::string> Number(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > kMaxNumber) return std::nullopt;
  return absl::StrCat(number);
}

std::optional<std::string> Factor(absl::string_view text) {
  double factor = 0;
  if (!absl::SimpleAtod(text, &factor) || !std::isfinite(factor) || factor < 0) return std::nullopt;
  return absl::StrCat(factor);
}

bool IsDigits(absl::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Seconds of "days-hours:minutes:seconds" and its shorter forms; a number alone counts in `unit`.
std::optional<int64_t> Seconds(absl::string_view text, int64_t unit) {
  int64_t days = 0;
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const bool with_days = absl::StrContains(text, '-');
  if (with_days && (!IsDigits(halves.first) || !absl::SimpleAtoi(halves.first, &days)))
    return std::nullopt;
  std::vector<int64_t> parts;
  for (const absl::string_view part : absl::StrSplit(with_days ? halves.second : text, ':')) {
    int64_t value = 0;
    if (!IsDigits(part) || !absl::SimpleAtoi(part, &value)) return std::nullopt;
    parts.push_back(value);
  }
  if (parts.size() > 3) return std::nullopt;
  if (with_days) {
    parts.resize(3);
    return ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  }
  if (parts.size() == 1) return parts[0] * unit;
  if (parts.size() == 2) return parts[0] * 60 + parts[1];
  return (parts[0] * 60 + parts[1]) * 60 + parts[2];
}

std::optional<std::string> Minutes(absl::string_view text) {
  const std::optional<int64_t> seconds = Seconds(text, 60);
  if (!seconds.has_value() || *seconds % 60 != 0) return std::nullopt;
  return absl::StrCat(*seconds / 60);
}

std::optional<std::string> WholeSeconds(absl::string_view text) {
  const std::optional<int64_t> seconds = Seconds(text, 1);
  if (!seconds.has_value()) return std::nullopt;
  return absl::StrCat(*seconds);
}

// MiB of "10G", "512M", "1.5T"; a number alone is in MiB already.
std::optional<std::string> Memory(absl::string_view text) {
  constexpr absl::string_view kUnits = "KMGTP";
  int power = 1;
  if (!text.empty()) {
    const size_t unit = kUnits.find(absl::ascii_toupper(text.back()));
    if (unit != absl::string_view::npos) {
      power = static_cast<int>(unit);
      text.remove_suffix(1);
    }
  }
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0) || value > 1e12) return std::nullopt;
  return absl::StrCat(static_cast<int64_t>(std::llround(value * std::pow(1024, power - 1))), "M");
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || absl::StrContains("_-.+/:", c); }

bool IsPlainName(absl::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

std::map<std::string, std::string> Split(absl::string_view tres) {
  std::map<std::string, std::string> parts;
  for (const absl::string_view part : absl::StrSplit(tres, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> both =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    parts[std::string(both.first)] = std::string(both.second);
  }
  return parts;
}

std::optional<std::string> Tres(absl::string_view text) {
  std::map<std::string, std::string> parts;
  for (const auto& [name, value] : Split(text)) {
    if (!IsPlainName(name)) return std::nullopt;
    if (value == kNone) continue;
    const auto canonical = name == "mem" ? Memory(value) : Number(value);
    if (!canonical.has_value()) return std::nullopt;
    parts[absl::AsciiStrToLower(name)] = *canonical;
  }
  return absl::StrJoin(parts, ",", absl::PairFormatter("="));
}

std::optional<std::string> Names(absl::string_view text) {
  std::set<std::string> names;
  for (const absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (!IsPlainName(name)) return std::nullopt;
    names.insert(absl::AsciiStrToLower(name));
  }
  return absl::StrJoin(names, ",");
}

std::optional<std::string> Canonical(const SlurmLimit& limit, absl::string_view text) {
  if (text.empty() || text == kNone) return limit.not_set;
  switch (limit.kind) {
    case Kind::kNumber:
      return Number(text);
    case Kind::kShares:
      return absl::EqualsIgnoreCase(text, "parent") ? "parent" : Number(text);
    case Kind::kFactor:
      return Factor(text);
    case Kind::kMinutes:
      return Minutes(text);
    case Kind::kSeconds:
      return WholeSeconds(text);
    case Kind::kTres:
      return Tres(text);
    case Kind::kNames:
      return Names(text);
  }
  return std::nullopt;
}

const char* Form(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return "a whole number";
    case Kind::kShares:
      return "a whole number or parent";
    case Kind::kFactor:
      return "a number";
    case Kind::kMinutes:
      return "whole minutes, as 90, 01:30:00 or 1-12:00:00";
    case Kind::kSeconds:
      return "seconds, as 300 or 00:05:00";
    case Kind::kTres:
      return "resources, as cpu=4,gres/gpu=2,mem=10G";
    case Kind::kNames:
      return "names, separated by commas";
  }
  return "";
}

const char* HolderName(LimitHolder holder) {
  switch (holder) {
    case LimitHolder::kQos:
      return "a QOS";
    case LimitHolder::kAccount:
      return "an account";
    case LimitHolder::kUser:
      return "a user";
  }
  return "";
}

std::string ValueOf(const SlurmLimits& limits, const SlurmLimit& limit) {
  const auto found = limits.find(limit.name);
  return found == limits.end() ? limit.not_set : found->second;
}

// sacctmgr changes the resources that it is told of and leaves the others.
std::string TresArgument(const std::string& before, const std::string& after) {
  std::map<std::string, std::string> parts = Split(after);
  for (const auto& [name, value] : Split(before)) parts.emplace(name, kNone);
  return absl::StrJoin(parts, ",", absl::PairFormatter("="));
}

}  // namespace

const std::vector<SlurmLimit>& LimitsOf(LimitHolder holder) {
  static const auto* const kOfQos = new std::vector<SlurmLimit>{
      {"Priority", Kind::kNumber, "0", "0"},
      {"Flags", Kind::kNames, "", "-1"},
      {"GraceTime", Kind::kSeconds, "0", "0"},
      {"GrpJobs", Kind::kNumber, "", "-1"},
      {"GrpSubmitJobs", Kind::kNumber, "", "-1"},
      {"GrpTRES", Kind::kTres, "", ""},
      {"GrpTRESMins", Kind::kTres, "", ""},
      {"GrpTRESRunMins", Kind::kTres, "", ""},
      {"GrpWall", Kind::kMinutes, "", "-1"},
      {"MaxJobsPerUser", Kind::kNumber, "", "-1"},
      {"MaxSubmitJobsPerUser", Kind::kNumber, "", "-1"},
      {"MaxJobsPerAccount", Kind::kNumber, "", "-1"},
      {"MaxSubmitJobsPerAccount", Kind::kNumber, "", "-1"},
      {"MaxTRESPerJob", Kind::kTres, "", ""},
      {"MaxTRESPerNode", Kind::kTres, "", ""},
      {"MaxTRESPerUser", Kind::kTres, "", ""},
      {"MaxTRESPerAccount", Kind::kTres, "", ""},
      {"MaxTRESMinsPerJob", Kind::kTres, "", ""},
      {"MaxWallDurationPerJob", Kind::kMinutes, "", "-1"},
      {"MinTRESPerJob", Kind::kTres, "", ""},
      {"Preempt", Kind::kNames, "", ""},
      {"PreemptMode", Kind::kNames, "cluster", "cluster"},
      {"UsageFactor", Kind::kFactor, "1", "1"},
  };
  static const auto* const kOfAssociation = new std::vector<SlurmLimit>{
      {"Fairshare", Kind::kShares, "1", "1"},
      {"Priority", Kind::kNumber, "", "-1"},
      {"GrpJobs", Kind::kNumber, "", "-1"},
      {"GrpSubmitJobs", Kind::kNumber, "", "-1"},
      {"GrpTRES", Kind::kTres, "", ""},
      {"GrpTRESMins", Kind::kTres, "", ""},
      {"GrpTRESRunMins", Kind::kTres, "", ""},
      {"GrpWall", Kind::kMinutes, "", "-1"},
      {"MaxJobs", Kind::kNumber, "", "-1"},
      {"MaxSubmitJobs", Kind::kNumber, "", "-1"},
      {"MaxTRESPerJob", Kind::kTres, "", ""},
      {"MaxTRESPerNode", Kind::kTres, "", ""},
      {"MaxTRESMinsPerJob", Kind::kTres, "", ""},
      {"MaxWallDurationPerJob", Kind::kMinutes, "", "-1"},
      {"QOS", Kind::kNames, "", ""},
      {"DefaultQOS", Kind::kNames, "", "-1"},
  };
  return holder == LimitHolder::kQos ? *kOfQos : *kOfAssociation;
}

absl::StatusOr<SlurmLimits> CanonicalLimits(LimitHolder holder,
                                            const std::map<std::string, std::string>& written) {
  const std::vector<SlurmLimit>& known = LimitsOf(holder);
  SlurmLimits limits;
  for (const auto& [name, value] : written) {
    const auto limit = std::find_if(known.begin(), known.end(),
                                    [&name = name](const auto& one) { return one.name == name; });
    if (limit == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' is not a limit of ", HolderName(holder),
          "; these are: ", absl::StrJoin(known, ", ", [](std::string* out, const SlurmLimit& one) {
            out->append(one.name);
          })));
    }
    const std::optional<std::string> canonical = Canonical(*limit, value);
    if (!canonical.has_value())
      return absl::InvalidArgumentError(
          absl::StrCat("'", value, "' is not a value of ", name, ": expected ", Form(limit->kind)));
    if (*canonical != limit->not_set) limits[name] = *canonical;
  }
  return limits;
}

void AddPrintedLimit(const SlurmLimit& limit, absl::string_view printed, SlurmLimits* limits) {
  const std::string value = Canonical(limit, printed).value_or(std::string(printed));
  if (value != limit.not_set) (*limits)[limit.name] = value;
}

std::string LimitArguments(LimitHolder holder, const SlurmLimits& before,
                           const SlurmLimits& after) {
  std::string arguments;
  for (const SlurmLimit& limit : LimitsOf(holder)) {
    const std::string old_value = ValueOf(before, limit), value = ValueOf(after, limit);
    if (value == old_value) continue;
    absl::StrAppend(&arguments, " ", limit.name, "=",
                    limit.kind == Kind::kTres ? TresArgument(old_value, value)
                    : value == limit.not_set  ? limit.to_unset
                                              : value);
  }
  return arguments;
}

}  // namespace muster::agent
