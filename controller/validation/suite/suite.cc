#include "controller/validation/suite/suite.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/checks/limits.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/inventory/errors.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster::controller::validation {
namespace {

constexpr yaml::Limits kSuiteLimits = {/*max_bytes=*/256 << 10, /*max_depth=*/16,
                                       /*max_nodes=*/20'000};
constexpr int kMaxRounds = 10'000;
constexpr size_t kMaxSuiteText = 1000;  // of a name or a parameter
// For a check that does not say how long it takes.
constexpr absl::Duration kUsualTimeLimit = absl::Minutes(10);
// Added to the time that a check measures: start, waiting for a partner, JIT, clean-up.
constexpr absl::Duration kBesideDuration = absl::Minutes(3);

class SuiteReader {
 public:
  SuiteReader(const yaml::Document& document, absl::Span<const checks::CheckSpec* const> catalog)
      : document_(document), catalog_(catalog) {}

  absl::StatusOr<Suite> Read() {
    Suite suite;
    yaml::MapReader reader(document_, document_.root(), "suite");
    errors_.Add(reader.Required("name", &suite.name));
    errors_.Add(reader.Required("description", &suite.description));
    errors_.Add(reader.Optional("admits", &suite.admits));
    const std::vector<yaml::Node> stages = List(reader, "stages", kMaxStages, document_.root());
    errors_.Add(reader.Finish());
    absl::string_view file = document_.file_name();
    const size_t slash = file.rfind('/');
    if (slash != absl::string_view::npos) file.remove_prefix(slash + 1);
    const absl::string_view stem = absl::StripSuffix(absl::StripSuffix(file, ".yaml"), ".yml");
    if (const yaml::Node* name = document_.root().Find("name");
        name != nullptr && !suite.name.empty() && suite.name != stem) {
      Wrong(*name, absl::StrCat("the suite must have the name of its file: '", stem, "'"));
    }
    std::set<std::string> names;
    for (const yaml::Node& stage : stages) {
      if (errors_.full()) break;
      suite.stages.push_back(ReadStage(stage));
      if (!suite.stages.back().name.empty() && !names.insert(suite.stages.back().name).second) {
        Wrong(stage, absl::StrCat("a second stage '", suite.stages.back().name, "'"));
      }
    }
    RETURN_IF_ERROR(errors_.ToStatus());
    return suite;
  }

 private:
  void Wrong(const yaml::Node& node, absl::string_view message) {
    errors_.Add(document_.Error(node, message));
  }

  // The items under `key`, which is required.
  std::vector<yaml::Node> List(yaml::MapReader& reader, absl::string_view key, size_t most,
                               const yaml::Node& map) {
    yaml::Node list;
    if (!errors_.Add(reader.Required(key, &list))) return {};
    if (!list.IsSequence() || list.items().empty()) {
      Wrong(list.IsNull() ? map : list,
            absl::StrCat("'", key, "' must be a list with at least one entry"));
      return {};
    }
    if (list.items().size() > most) {
      Wrong(list, absl::StrCat("'", key, "' has ", list.items().size(), " entries, at most ", most,
                               " are read"));
      return {};
    }
    return list.items();
  }

  SuiteStage ReadStage(const yaml::Node& node) {
    SuiteStage stage;
    yaml::MapReader reader(document_, node, "stage");
    errors_.Add(reader.Required("name", &stage.name));
    errors_.Add(reader.Optional("side_by_side", &stage.side_by_side));
    errors_.Add(reader.Optional("stop_on_fail", &stage.stop_on_fail));
    const std::vector<yaml::Node> checks = List(reader, "checks", kMaxStageChecks, node);
    errors_.Add(reader.Finish());
    if (stage.name.size() > kMaxSuiteText) Wrong(node, "the stage's name is too long");
    for (const yaml::Node& check : checks) {
      if (errors_.full()) break;
      if (std::optional<SuiteCheck> read = ReadCheck(check)) {
        stage.checks.push_back(*std::move(read));
        if (stage.side_by_side) LookBesides(check, stage);
      }
    }
    return stage;
  }

  // Reports combinations that the agent or the worker would refuse when the stage's last check
  // starts beside the others.
  void LookBesides(const yaml::Node& node, const SuiteStage& stage) {
    const auto loads_gpus = [](const SuiteCheck& check) {
      return check.spec->load == checks::Load::kGpu;
    };
    const SuiteCheck& last = stage.checks.back();
    const auto other = std::find_if(stage.checks.begin(), stage.checks.end() - 1, loads_gpus);
    if (loads_gpus(last) && other != stage.checks.end() - 1) {
      Wrong(node, absl::StrCat("'", std::string(last.spec->name), "' loads GPUs that '",
                               std::string(other->spec->name),
                               "' of this stage also uses: move one of them to another stage, or "
                               "omit side_by_side"));
    }
    if (stage.checks.size() == checks::kMaxChecksAtOnce + 1) {
      Wrong(node, absl::StrCat("a node runs ", checks::kMaxChecksAtOnce,
                               " checks side by side: move this one and those after it to another "
                               "stage, or omit side_by_side"));
    }
  }

  // "gpu-gemm" alone, or a map.
  std::optional<SuiteCheck> ReadCheck(const yaml::Node& node) {
    SuiteCheck check;
    if (node.IsScalar()) {
      check.spec = FindSpec(node, node.text());
      if (check.spec == nullptr) return std::nullopt;
      check.time_limit = TimeLimit(check, std::nullopt, node);
      return check;
    }
    yaml::MapReader reader(document_, node, "check");
    std::string name;
    std::vector<std::string> when;
    yaml::Node with;
    std::optional<absl::Duration> time_limit;
    int max_rounds = 0;
    if (!errors_.Add(reader.Required("check", &name))) return std::nullopt;
    errors_.Add(reader.Optional("when", &when));
    errors_.Add(reader.Optional("with", &with));
    if (const yaml::Node* limit = reader.Take("time_limit"); limit != nullptr) {
      time_limit = ReadTimeLimit(*limit);
    }
    if (const yaml::Node* rounds = reader.Take("max_rounds"); rounds != nullptr) {
      if (errors_.Add(yaml::Read(document_, *rounds, &max_rounds)) &&
          (max_rounds < 1 || max_rounds > kMaxRounds)) {
        Wrong(*rounds, absl::StrCat("max_rounds must be from 1 to ", kMaxRounds));
      }
    }
    errors_.Add(reader.Finish());
    check.spec = FindSpec(*node.Find("check"), name);
    if (check.spec == nullptr) return std::nullopt;
    if (max_rounds != 0 && check.spec->scope != checks::Scope::kPair) {
      Wrong(*node.Find("max_rounds"),
            absl::StrCat("max_rounds is for checks of pairs, which '", name, "' is not"));
    }
    check.max_rounds = static_cast<size_t>(std::max(max_rounds, 0));
    if (const yaml::Node* words = node.Find("when"); words != nullptr) {
      ReadWhen(*words, when, check.when);
    }
    if (!ReadParameters(with, check)) return std::nullopt;
    check.time_limit = TimeLimit(check, time_limit, node);
    return check;
  }

  const checks::CheckSpec* FindSpec(const yaml::Node& node, const std::string& name) {
    const checks::CheckSpec* const spec = FindSpecIn(catalog_, name);
    if (spec == nullptr) {
      Wrong(node, absl::StrCat("no check '", name, "'", NearestOrKnown(name, NamesOf(catalog_))));
    }
    return spec;
  }

  void ReadWhen(const yaml::Node& node, const std::vector<std::string>& words,
                std::vector<Condition>& conditions) {
    std::vector<std::string> known;
    for (const ConditionWord& row : ConditionWords()) known.emplace_back(row.word);
    for (size_t i = 0; i < words.size(); ++i) {
      const yaml::Node& place = node.IsSequence() ? node.items()[i] : node;
      const auto row = std::find(known.begin(), known.end(), words[i]);
      if (row == known.end()) {
        Wrong(place,
              absl::StrCat("no condition '", words[i], "'", NearestOrKnown(words[i], known)));
        continue;
      }
      const Condition condition = ConditionWords()[row - known.begin()].condition;
      if (std::find(conditions.begin(), conditions.end(), condition) == conditions.end()) {
        conditions.push_back(condition);
      }
    }
  }

  bool ReadParameters(const yaml::Node& with, SuiteCheck& check) {
    if (with.IsNull()) return true;
    if (!with.IsMap()) {
      Wrong(with, absl::StrCat("'with' must be a map of the check's parameters, not ",
                               yaml::KindName(with.kind())));
      return false;
    }
    bool good = true;
    std::vector<std::string> known;
    for (const checks::ParameterSpec& spec : check.spec->parameters) known.emplace_back(spec.name);
    for (const yaml::Entry& entry : with.entries()) {
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
        errors_.Add(document_.Error(
            entry.key_mark, absl::StrCat("'", std::string(check.spec->name), "' has no parameter '",
                                         entry.key, "'", NearestOrKnown(entry.key, known))));
        good = false;
        continue;
      }
      std::vector<std::string> words;  // a list is joined with commas
      if (!errors_.Add(yaml::Read(document_, entry.value, &words))) {
        good = false;
        continue;
      }
      const std::string text = absl::StrJoin(words, ",");
      const auto parsed = checks::Parameters::Parse(*check.spec, {{entry.key, text}});
      if (text.empty() || text.size() > kMaxSuiteText) {
        Wrong(entry.value,
              absl::StrCat("'", entry.key, "' takes 1 to ", kMaxSuiteText, " characters"));
        good = false;
      } else if (!parsed.ok()) {
        Wrong(entry.value, absl::string_view(parsed.status().message().data(),
                                             parsed.status().message().size()));
        good = false;
      } else {
        check.parameters[entry.key] = parsed->Word(entry.key);
      }
    }
    return good;
  }

  std::optional<absl::Duration> ReadTimeLimit(const yaml::Node& node) {
    absl::Duration limit;
    if (!errors_.Add(yaml::Read(document_, node, &limit))) return std::nullopt;
    if (limit < absl::Seconds(1) || limit > kMaxTimeLimit) {
      Wrong(node,
            absl::StrCat("a time limit must be from 1s to ", absl::FormatDuration(kMaxTimeLimit)));
      return std::nullopt;
    }
    return limit;
  }

  // The time in which GPUs may cool down first is added to any time limit.
  absl::Duration TimeLimit(const SuiteCheck& check, std::optional<absl::Duration> given,
                           const yaml::Node& place) {
    const absl::Duration limit = WorkTimeLimit(check, given, place);
    return std::min(limit + DurationOf(check, "cool-down").value_or(absl::ZeroDuration()),
                    kMaxTimeLimit);
  }

  // nullopt: the check has no such parameter, or is not given one and has no default.
  static std::optional<absl::Duration> DurationOf(const SuiteCheck& check, absl::string_view name) {
    for (const checks::ParameterSpec& spec : check.spec->parameters) {
      if (spec.name != name) continue;
      const auto parameters = checks::Parameters::Parse(*check.spec, check.parameters);
      if (!parameters.ok()) break;
      if (const std::optional<double> seconds = parameters->OptionalNumber(name)) {
        return absl::Seconds(*seconds);
      }
    }
    return std::nullopt;
  }

  // The measuring time of a check is called "duration" wherever there is such a parameter.
  absl::Duration WorkTimeLimit(const SuiteCheck& check, std::optional<absl::Duration> given,
                               const yaml::Node& place) {
    const std::optional<absl::Duration> duration = DurationOf(check, "duration");
    if (given.has_value()) {
      if (duration.has_value() && *given <= *duration) {
        Wrong(place,
              absl::StrCat("the time limit of ", absl::FormatDuration(*given),
                           " is not above the duration of ", absl::FormatDuration(*duration)));
      }
      return *given;
    }
    return duration.has_value()
               ? std::min(*duration + *duration / 2 + kBesideDuration, kMaxTimeLimit)
               : kUsualTimeLimit;
  }

  const yaml::Document& document_;
  const absl::Span<const checks::CheckSpec* const> catalog_;
  Errors errors_;
};

}  // namespace

absl::StatusOr<Suite> ParseSuite(absl::string_view file_name, absl::string_view text,
                                 absl::Span<const checks::CheckSpec* const> catalog) {
  ASSIGN_OR_RETURN(const yaml::Document document,
                   yaml::Document::Parse(file_name, text, kSuiteLimits));
  return SuiteReader(document, catalog).Read();
}

}  // namespace muster::controller::validation
