#include "controller/validation/suite/hardware.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/inventory/errors.h"
#include "controller/stack/gpu_generation.h"
#include "controller/stack/gpu_models.h"
#include "controller/validation/suite/hardware_lint.h"

namespace muster::controller::validation {
namespace {

constexpr yaml::Limits kHardwareLimits = {/*max_bytes=*/256 << 10, /*max_depth=*/8,
                                          /*max_nodes=*/20'000};
constexpr size_t kMaxFiles = 1000;

// Reads one file.
class ModelReader {
 public:
  ModelReader(const yaml::Document& document, Catalog catalog, Errors* errors)
      : document_(document), catalog_(catalog), errors_(*errors) {}

  HardwareModel Read() {
    HardwareModel model;
    const yaml::Node& root = document_.root();
    absl::string_view name = document_.file_name();
    const size_t slash = name.rfind('/');
    if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
    model.name = std::string(absl::StripSuffix(absl::StripSuffix(name, ".yaml"), ".yml"));
    model.place = {document_.file_name(), 1, 1};
    yaml::MapReader reader(document_, root, "hardware");
    if (errors_.Add(reader.Required("kind", &model.kind)) && model.kind != "gpu" &&
        model.kind != "nic") {
      Wrong(*root.Find("kind"), absl::StrCat("'kind' must be gpu or nic, not '", model.kind, "'"));
    }
    if (errors_.Add(reader.Required("match", &model.match))) {
      for (const std::string& pattern : model.match) {
        if (pattern.find('*') < pattern.size() - 1 || pattern == "*" || pattern.empty()) {
          Wrong(*root.Find("match"), "'match' takes names; a '*' may stand only at the end");
        }
      }
    }
    std::string generation;
    if (errors_.Add(reader.Optional("generation", &generation)) && !generation.empty()) {
      if (const std::string wrong = stack::CheckGeneration(generation); !wrong.empty()) {
        Wrong(*root.Find("generation"), wrong);
      } else if (model.kind != "gpu") {
        Wrong(*root.Find("generation"), "only GPUs have a 'generation'");
      }
    }
    model.power_watts = ReadSourced(reader, "power_watts", LintPowerWatts);
    model.node_watts_per_gpu = ReadSourced(reader, "node_watts_per_gpu", LintPowerWatts);
    CheckNodeWatts(root, model);
    model.max_temperature_celsius = ReadSourced(reader, "max_temperature_celsius", LintTemperature);
    ReadRelative(reader, "fleet", model.fleet);
    ReadRelative(reader, "history", model.history);
    for (const yaml::Node& item : List(reader, "limits")) ReadLimit(item, model);
    for (const yaml::Node& item : List(reader, "digests")) ReadDigest(item, model);
    errors_.Add(reader.Finish());
    return model;
  }

 private:
  void Wrong(const yaml::Node& node, absl::string_view message) {
    errors_.Add(document_.Error(node, message));
  }

  std::string SourceAt(const yaml::Node& node, absl::string_view source) const {
    const std::string place = absl::StrCat(document_.file_name(), ":", node.mark().line);
    return source.empty() ? place : absl::StrCat(place, ", ", source);
  }

  std::vector<yaml::Node> List(yaml::MapReader& reader, absl::string_view key) {
    yaml::Node list;
    errors_.Add(reader.Optional(key, &list));
    if (list.IsNull()) return {};
    if (!list.IsSequence()) Wrong(list, absl::StrCat("'", key, "' is a list"));
    return list.items();
  }

  std::optional<SourcedValue> ReadSourced(yaml::MapReader& reader, absl::string_view key,
                                          std::string (*lint)(double)) {
    const yaml::Node* const node = reader.Take(key);
    if (node == nullptr) return std::nullopt;
    SourcedValue read;
    yaml::MapReader inside(document_, *node, key);
    const bool has_value = errors_.Add(inside.Required("value", &read.value));
    const bool has_source = errors_.Add(inside.Required("source", &read.source));
    if (!errors_.Add(inside.Finish()) || !has_value || !has_source) return std::nullopt;
    if (const std::string wrong = lint(read.value); !wrong.empty()) {
      Wrong(*node->Find("value"), wrong);
    }
    read.source = SourceAt(*node, read.source);
    return read;
  }

  // A node draws what its GPUs draw, and more.
  void CheckNodeWatts(const yaml::Node& root, const HardwareModel& model) {
    if (!model.node_watts_per_gpu.has_value()) return;
    const yaml::Node& of_node = *root.Find("node_watts_per_gpu");
    if (root.Find("power_watts") == nullptr) {
      Wrong(of_node, "'node_watts_per_gpu' needs 'power_watts', what one GPU draws of it");
    } else if (model.power_watts.has_value() &&
               model.node_watts_per_gpu->value < model.power_watts->value) {
      Wrong(*of_node.Find("value"),
            absl::StrCat("a node draws at least what its GPUs do: for each of them ",
                         model.node_watts_per_gpu->value, " W is below the power_watts of ",
                         model.power_watts->value, " W"));
    }
  }

  void ReadRelative(yaml::MapReader& reader, absl::string_view key, RelativeLimit& out) {
    const yaml::Node* const node = reader.Take(key);
    if (node == nullptr) return;
    yaml::MapReader inside(document_, *node, key);
    errors_.Add(inside.Optional("deviations", &out.deviations));
    errors_.Add(inside.Optional("percent", &out.percent));
    errors_.Add(inside.Finish());
    // Written so that NaN is refused too.
    if (!(out.deviations >= 1 && out.deviations <= 100)) {
      Wrong(*node, "'deviations' must be from 1 to 100");
    }
    if (!(out.percent >= 0 && out.percent <= 100)) Wrong(*node, "'percent' must be from 0 to 100");
  }

  std::optional<double> ReadNumber(yaml::MapReader& reader, absl::string_view key) {
    const yaml::Node* const node = reader.Take(key);
    double value = 0;
    if (node == nullptr || !errors_.Add(yaml::Read(document_, *node, &value))) {
      return std::nullopt;
    }
    return value;
  }

  void ReadLimit(const yaml::Node& node, HardwareModel& model) {
    HardwareLimit limit;
    std::string source;
    yaml::MapReader reader(document_, node, "limit");
    const bool has_check = errors_.Add(reader.Required("check", &limit.check));
    const bool has_metric = errors_.Add(reader.Required("metric", &limit.metric));
    const bool unit_is_text = errors_.Add(reader.Optional("unit", &limit.unit));
    errors_.Add(reader.Optional("variant", &limit.variant));
    limit.floor = ReadNumber(reader, "floor");
    limit.ceiling = ReadNumber(reader, "ceiling");
    limit.peak = ReadNumber(reader, "peak");
    errors_.Add(reader.Optional("optional", &limit.optional));
    errors_.Add(reader.Optional("source", &source));
    if (!errors_.Add(reader.Finish()) || !has_check || !has_metric || !unit_is_text) return;
    if (source.empty() && (limit.floor || limit.ceiling || limit.peak)) {
      return Wrong(
          node,
          "the limit lacks 'source': where it comes from, or when and on what it was measured");
    }
    const checks::CheckSpec* const check = FindSpecIn(catalog_, limit.check);
    if (check == nullptr) {
      return Wrong(*node.Find("check"),
                   absl::StrCat("no check '", limit.check, "'",
                                NearestOrKnown(limit.check, NamesOf(catalog_))));
    }
    const checks::MetricSpec* const metric = FindMetric(*check, limit.metric);
    if (metric == nullptr) {
      return Wrong(*node.Find("metric"),
                   absl::StrCat("'", limit.check, "' does not measure '", limit.metric, "'",
                                NearestOrKnown(limit.metric, MetricNamesOf(*check))));
    }
    if (limit.unit.empty()) {
      return Wrong(node, absl::StrCat("the limit lacks 'unit': '", limit.metric, "' is in ",
                                      std::string(metric->unit), "; write unit: \"",
                                      std::string(metric->unit), "\" if the values are"));
    }
    if (const std::string wrong = LintLimit(limit, *metric); !wrong.empty()) {
      return Wrong(node, wrong);
    }
    if (!seen_.insert({limit.check, limit.metric, limit.variant}).second) {
      return Wrong(node, absl::StrCat("a second limit of this metric of '", limit.check,
                                      "' and this variant"));
    }
    limit.source = SourceAt(node, source);
    model.limits.push_back(std::move(limit));
  }

  void ReadDigest(const yaml::Node& node, HardwareModel& model) {
    GoldenDigest digest;
    std::string source;
    yaml::MapReader reader(document_, node, "digest");
    const bool has_name = errors_.Add(reader.Required("name", &digest.name));
    const bool has_value = errors_.Add(reader.Required("value", &digest.value));
    const bool has_source = errors_.Add(reader.Required("source", &source));
    if (!errors_.Add(reader.Finish()) || !has_name || !has_value || !has_source) return;
    if (const std::string wrong = LintDigest(digest.value); !wrong.empty()) {
      return Wrong(*node.Find("value"), wrong);
    }
    digest.source = SourceAt(node, source);
    model.digests.push_back(std::move(digest));
  }

  const yaml::Document& document_;
  const Catalog catalog_;
  Errors& errors_;
  std::set<std::tuple<std::string, std::string, std::string>> seen_;
};

}  // namespace

std::string PortName(absl::string_view kind, double gbits_per_s) {
  return absl::StrCat(kind, " ", gbits_per_s, " Gbit/s");
}

const HardwareModel* HardwareLibrary::Find(absl::string_view kind, absl::string_view model) const {
  const HardwareModel* best = nullptr;
  size_t most = 0;
  for (const HardwareModel& candidate : models_) {
    if (candidate.kind != kind) continue;
    for (const std::string& pattern : candidate.match) {
      const size_t says = stack::MatchLength(pattern, model);
      if (says > most) {
        most = says;
        best = &candidate;
      }
    }
  }
  return best;
}

absl::StatusOr<HardwareLibrary> ParseHardware(const std::map<std::string, std::string>& files,
                                              Catalog catalog) {
  if (files.size() > kMaxFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.size(), " hardware files; at most ", kMaxFiles, " are read"));
  }
  Errors errors;
  std::vector<HardwareModel> models;
  std::map<std::pair<std::string, std::string>, std::string> matched;  // → file
  for (const auto& [path, text] : files) {
    const absl::StatusOr<yaml::Document> document =
        yaml::Document::Parse(path, text, kHardwareLimits);
    if (!errors.Add(document.status())) continue;
    models.push_back(ModelReader(*document, catalog, &errors).Read());
    const HardwareModel& model = models.back();
    for (const std::string& pattern : model.match) {
      const auto [first, added] = matched.emplace(std::make_pair(model.kind, pattern), path);
      if (!added) {
        errors.Add(document->Error(*document->root().Find("match"),
                                   absl::StrCat("'", pattern, "' is in ", first->second, " too")));
      }
    }
  }
  RETURN_IF_ERROR(errors.ToStatus());
  return HardwareLibrary(std::move(models));
}

}  // namespace muster::controller::validation
