#include "cli/render/validation/hardware_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/validation/validation_words.h"
#include "common/base/text/counted.h"

namespace muster::cli {
namespace {

std::string FourDigits(double value) { return absl::StrFormat("%.4g", value); }

// Prefixed with `#`, so that tools that apply the changes skip it.
std::string Commented(const std::string& text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty()) absl::StrAppend(&out, "# ", line, "\n");
  }
  return out;
}

std::string Bounds(const v1::HardwareLimit& limit) {
  std::vector<std::string> parts;
  if (limit.has_floor()) parts.push_back(absl::StrCat("at least ", FourDigits(limit.floor())));
  if (limit.has_ceiling()) parts.push_back(absl::StrCat("at most ", FourDigits(limit.ceiling())));
  if (parts.empty()) parts.push_back(limit.may_be_missing() ? "no limit" : "to be measured");
  return absl::StrJoin(parts, ", ");
}

std::string LearnedTable(const v1::LearnedModel& model) {
  Table table({"CHECK", "METRIC", "VARIANT", "UNIT", "COUNT", "NODES", "MEDIAN", "LEAST", "FLOOR",
               "NOW", "NOTE"});
  for (const v1::LearnedLimit& learned : model.limits()) {
    const v1::HardwareLimit& limit = learned.limit();
    table.AddRow({limit.check(), limit.metric(), Tame(limit.variant()),
                  std::string(UnitName(limit.unit())), absl::StrCat(learned.subjects()),
                  absl::StrCat(learned.nodes()), FourDigits(learned.median()),
                  FourDigits(learned.worst()), limit.has_floor() ? FourDigits(limit.floor()) : "-",
                  learned.has_existing_floor() ? FourDigits(learned.existing_floor()) : "-",
                  learned.note()});
  }
  return table.ToString();
}

}  // namespace

std::string RenderHardwareList(const v1::ReadHardwareResponse& response) {
  Table table({"MODEL", "KIND", "MATCHES", "POWER", "HOTTEST", "FLOORS", "CEILINGS", "DIGESTS"});
  for (const v1::HardwareModel& model : response.models()) {
    int floors = 0, ceilings = 0;
    for (const v1::HardwareLimit& limit : model.limits()) {
      floors += limit.has_floor();
      ceilings += limit.has_ceiling();
    }
    table.AddRow(
        {model.name(), model.kind(), absl::StrJoin(model.match(), ", "),
         model.has_power_watts() ? absl::StrCat(FourDigits(model.power_watts()), " W") : "-",
         model.has_max_temperature_celsius()
             ? absl::StrCat(FourDigits(model.max_temperature_celsius()), " °C")
             : "-",
         absl::StrCat(floors), absl::StrCat(ceilings), absl::StrCat(model.digests())});
  }
  std::string text = table.ToString();
  for (const std::string& note : response.notes()) absl::StrAppend(&text, "! ", note, "\n");
  return text;
}

std::string RenderHardwareModel(const v1::HardwareModel& model) {
  std::string text = absl::StrCat(model.name(), " (", model.kind(),
                                  "): ", absl::StrJoin(model.match(), ", "), "\n");
  if (model.has_power_watts()) {
    absl::StrAppend(&text, "  ", FourDigits(model.power_watts()), " W each: ", model.power_source(),
                    "\n");
  }
  if (model.has_max_temperature_celsius()) {
    absl::StrAppend(&text, "  at most ", FourDigits(model.max_temperature_celsius()),
                    " °C: ", model.temperature_source(), "\n");
  }
  if (model.digests() > 0) {
    absl::StrAppend(&text, "  ", Counted(model.digests(), "result"),
                    " that every card of the model must compute\n");
  }
  Table table({"CHECK", "METRIC", "VARIANT", "LIMIT", "PEAK", "UNIT", "SOURCE"});
  for (const v1::HardwareLimit& limit : model.limits()) {
    table.AddRow({limit.check(), limit.metric(), limit.variant(), Bounds(limit),
                  limit.has_peak() ? FourDigits(limit.peak()) : "-",
                  std::string(UnitName(limit.unit())), limit.source()});
  }
  return absl::StrCat(text, "\n", table.ToString());
}

std::string RenderLearned(const v1::LearnHardwareResponse& response) {
  std::string text = Commented(absl::StrCat(Counted(response.results(), "good result"), " of ",
                                            Counted(response.nodes(), "node"), "\n",
                                            absl::StrJoin(response.notes(), "\n")));
  for (const v1::LearnedModel& model : response.models()) {
    absl::StrAppend(
        &text, "#\n",
        Commented(absl::StrCat(model.file(), ", of ", Tame(model.model()), "\n",
                               LearnedTable(model), "\n", absl::StrJoin(model.notes(), "\n"))),
        Commented(model.fragment()), model.diff());
  }
  if (response.models().empty()) absl::StrAppend(&text, "# nothing to learn from\n");
  return text;
}

}  // namespace muster::cli
