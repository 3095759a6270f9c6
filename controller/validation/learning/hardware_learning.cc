#include "controller/validation/learning/hardware_learning.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "controller/validation/suite/hardware_lint.h"
#include "controller/validation/suite/hardware_text.h"

namespace muster::controller::validation {
namespace {

// For models whose maximum is not known: a value this far above the best must be in another unit.
constexpr double kPeakAboveBest = 1.2;

// The limit for exactly this variant, or the one for all variants.
const HardwareLimit* FindLimit(const HardwareModel* file, const LearnedMetric& learned,
                               absl::string_view variant) {
  if (file == nullptr) return nullptr;
  for (const HardwareLimit& limit : file->limits) {
    if (limit.check == learned.check->name && limit.metric == learned.metric->name &&
        limit.variant == variant) {
      return &limit;
    }
  }
  return nullptr;
}

// A value of two digits above the best one reached.
double PeakOver(double best) {
  const double above = best * kPeakAboveBest;
  const double unit = std::pow(10, std::floor(std::log10(above)) - 1);
  return std::ceil(above / unit) * unit;
}

// Fills `out` from what was learned; nullopt: there is nothing to write, and its note says why.
std::optional<FloorEntry> Decide(const LearnedMetric& learned, const FloorProposal& proposal,
                                 const HardwareModel* file, v1::LearnedLimit& out) {
  const HardwareLimit* const exact = FindLimit(file, learned, learned.variant);
  const HardwareLimit* const general = FindLimit(file, learned, "");
  const HardwareLimit* const existing = exact != nullptr && exact->floor.has_value() ? exact
                                        : general != nullptr && general->floor.has_value()
                                            ? general
                                            : nullptr;
  v1::HardwareLimit& limit = *out.mutable_limit();
  limit.set_check(std::string(learned.check->name));
  limit.set_metric(std::string(learned.metric->name));
  limit.set_variant(learned.variant);
  limit.set_unit(std::string(learned.metric->unit));
  out.set_subjects(static_cast<uint32_t>(proposal.subjects));
  out.set_nodes(static_cast<uint32_t>(proposal.nodes));
  out.set_median(proposal.median);
  out.set_worst(proposal.worst);
  out.set_note(proposal.note);
  if (existing != nullptr) out.set_existing_floor(*existing->floor);
  if (!proposal.note.empty()) return std::nullopt;
  if (existing != nullptr && *existing->floor >= proposal.floor) {
    out.set_note(*existing->floor > proposal.worst
                     ? absl::StrFormat("existing floor %.6g is above the worst good result %.4g: "
                                       "it was raised since, or does not suit these nodes",
                                       *existing->floor, proposal.worst)
                 : *existing->floor == proposal.floor
                     ? "stays"
                     : absl::StrFormat("existing floor %.6g stays: these results lead only to %.6g",
                                       *existing->floor, proposal.floor));
    return std::nullopt;
  }
  FloorEntry entry;
  entry.check = limit.check();
  entry.metric = limit.metric();
  entry.variant = limit.variant();
  entry.unit = limit.unit();
  entry.floor = proposal.floor;
  entry.source = proposal.source;
  HardwareLimit checked;
  checked.metric = entry.metric;
  checked.unit = entry.unit;
  checked.floor = entry.floor;
  if (exact != nullptr && exact->peak.has_value()) {
    checked.peak = exact->peak;
    if (proposal.best > *exact->peak) {
      out.set_note(
          absl::StrFormat("%.4g was measured, above the file's peak of %.6g: review the peak",
                          proposal.best, *exact->peak));
    }
  } else {
    entry.peak =
        general != nullptr && general->peak.has_value() ? *general->peak : PeakOver(proposal.best);
    entry.peak_source =
        absl::StrFormat("the highest measured value, %.4g, plus a fifth", proposal.best);
    if (general != nullptr && general->peak.has_value()) entry.peak_source = "that of all variants";
    checked.peak = entry.peak;
  }
  if (const std::string wrong = LintLimit(checked, *learned.metric); !wrong.empty()) {
    out.set_note(wrong);
    return std::nullopt;
  }
  limit.set_floor(entry.floor);
  limit.set_peak(*checked.peak);
  limit.set_source(entry.source);
  limit.set_may_be_missing(exact == nullptr || exact->optional);
  return entry;
}

// Writes the entries into the model's file, or says how a person can.
void Write(const HardwareModel* file, const std::map<std::string, std::string>& files,
           const std::set<std::string>& models, const std::vector<FloorEntry>& entries,
           Catalog catalog, v1::LearnedModel& model) {
  if (entries.empty()) return;
  if (file == nullptr) {
    model.set_diff(HardwareDiff(model.file(), "", NewHardwareFile(model.kind(), models, entries)));
    return;
  }
  const std::string& before = files.at(model.file());
  const absl::StatusOr<std::string> after = WithFloors(model.file(), before, entries, catalog);
  if (after.ok()) {
    model.set_diff(HardwareDiff(model.file(), before, *after));
    return;
  }
  model.set_fragment(FloorEntriesText(entries, 2));
  model.add_notes(absl::StrCat(
      after.status().message(),
      "; put these entries into `limits:` by hand, in place of those of the same variant"));
}

std::string Stem(absl::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return std::string(absl::StripSuffix(path, ".yaml"));
}

// The measurements of the models that one file is for: its floors have to hold for all of them.
struct FileProposal {
  std::string path;
  const HardwareModel* file = nullptr;  // nullptr: it does not exist yet
  std::string kind;
  std::set<std::string> models;
  std::vector<LearnedMetric> metrics;
};

void Merge(const LearnedMetric& metric, std::vector<LearnedMetric>& into) {
  for (LearnedMetric& known : into) {
    if (known.check != metric.check || known.metric != metric.metric ||
        known.variant != metric.variant) {
      continue;
    }
    known.populations.insert(known.populations.end(), metric.populations.begin(),
                             metric.populations.end());
    known.suites.insert(metric.suites.begin(), metric.suites.end());
    known.oldest = std::min(known.oldest, metric.oldest);
    if (metric.newest >= known.newest) {
      known.newest = metric.newest;
      known.newest_validation = metric.newest_validation;
    }
    return;
  }
  into.push_back(metric);
}

bool IsChosen(const std::vector<std::string>& patterns, const FileProposal& proposal,
              std::set<std::string>& used) {
  std::set<std::string> names = proposal.models;
  names.insert(Stem(proposal.path));
  bool chosen = patterns.empty();
  for (const std::string& pattern : patterns) {
    absl::string_view start = pattern;
    const bool is_start = absl::ConsumeSuffix(&start, "*");
    for (const std::string& name : names) {
      if (is_start ? !absl::StartsWithIgnoreCase(name, start)
                   : !absl::EqualsIgnoreCase(name, pattern)) {
        continue;
      }
      used.insert(pattern);
      chosen = true;
    }
  }
  return chosen;
}

v1::LearnedModel Propose(const FileProposal& proposal,
                         const std::map<std::string, std::string>& files, size_t min_subjects,
                         Catalog catalog) {
  v1::LearnedModel model;
  model.set_kind(proposal.kind);
  model.set_model(absl::StrJoin(proposal.models, ", "));
  model.set_file(proposal.path);
  std::vector<FloorEntry> entries;
  const RelativeLimit limit = proposal.file == nullptr ? RelativeLimit() : proposal.file->fleet;
  for (const LearnedMetric& metric : proposal.metrics) {
    const std::optional<FloorEntry> entry = Decide(
        metric, ProposeFloor(metric, limit, min_subjects), proposal.file, *model.add_limits());
    if (entry.has_value()) entries.push_back(*entry);
  }
  const bool taken = proposal.file == nullptr && files.count(proposal.path) > 0;
  if (!entries.empty() && (taken || absl::EndsWith(model.model(), "*"))) {
    model.add_notes(absl::StrCat("no file matches this model, and ", proposal.path,
                                 " belongs to another model: write one by hand"));
    model.set_fragment(FloorEntriesText(entries, 2));
  } else {
    Write(proposal.file, files, proposal.models, entries, catalog, model);
  }
  return model;
}

}  // namespace

v1::HardwareModel ToProto(const HardwareModel& model) {
  v1::HardwareModel proto;
  proto.set_name(model.name);
  proto.set_kind(model.kind);
  for (const std::string& pattern : model.match) proto.add_match(pattern);
  for (const HardwareLimit& limit : model.limits) {
    v1::HardwareLimit& out = *proto.add_limits();
    out.set_check(limit.check);
    out.set_metric(limit.metric);
    out.set_variant(limit.variant);
    out.set_unit(limit.unit);
    if (limit.floor.has_value()) out.set_floor(*limit.floor);
    if (limit.ceiling.has_value()) out.set_ceiling(*limit.ceiling);
    if (limit.peak.has_value()) out.set_peak(*limit.peak);
    out.set_may_be_missing(limit.optional);
    out.set_source(limit.source);
  }
  if (model.power_watts.has_value()) {
    proto.set_power_watts(model.power_watts->value);
    proto.set_power_source(model.power_watts->source);
  }
  if (model.max_temperature_celsius.has_value()) {
    proto.set_max_temperature_celsius(model.max_temperature_celsius->value);
    proto.set_temperature_source(model.max_temperature_celsius->source);
  }
  proto.set_digests(static_cast<uint32_t>(model.digests.size()));
  return proto;
}

absl::StatusOr<std::vector<v1::LearnedModel>> ProposeHardware(
    const std::vector<LearnedMetric>& learned, const HardwareLibrary& library,
    const std::map<std::string, std::string>& files, const std::vector<std::string>& models,
    size_t min_subjects, Catalog catalog) {
  std::map<std::string, FileProposal> by_file;
  for (const LearnedMetric& metric : learned) {
    const HardwareModel* const file = library.Find(metric.kind, metric.model);
    const std::string path = file == nullptr ? NewHardwarePath(metric.model) : file->place.file;
    FileProposal& proposal = by_file[path];
    proposal.path = path;
    proposal.file = file;
    proposal.kind = metric.kind;
    proposal.models.insert(metric.model);
    Merge(metric, proposal.metrics);
  }
  std::set<std::string> used, measured;
  std::vector<v1::LearnedModel> proposals;
  for (const auto& [key, proposal] : by_file) {
    measured.insert(proposal.models.begin(), proposal.models.end());
    if (!IsChosen(models, proposal, used)) continue;
    proposals.push_back(Propose(proposal, files, min_subjects, catalog));
  }
  for (const std::string& pattern : models) {
    if (used.count(pattern) > 0) continue;
    return absl::NotFoundError(absl::StrCat(
        "no good result of '", pattern, "'",
        measured.empty() ? ": nothing was measured"
                         : absl::StrCat("; there are results of ", absl::StrJoin(measured, ", "))));
  }
  return proposals;
}

}  // namespace muster::controller::validation
