#include "cli/render/validation/rma_bundle.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/page/plot.h"
#include "cli/render/validation/validation_page.h"
#include "cli/render/validation/validation_words.h"
#include "common/base/proto_time.h"
#include "common/value/proto_value.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

std::string When(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

std::string Underlined(absl::string_view text) {
  return absl::StrCat("\n", text, "\n", std::string(text.size(), '-'), "\n");
}

// The parts, each as reported by the newest result that knows it.
std::string Parts(const std::vector<ValidationEvidence>& evidence) {
  std::map<std::string, const v1::Subject*> parts;
  for (const ValidationEvidence& each : evidence)
    for (const v1::NodeCheckResult& result : each.results)
      for (const v1::Subject& subject : result.result().subjects()) {
        const v1::Subject*& known = parts[subject.id()];
        // A result with more attributes counts more: above all with the serial.
        if (known == nullptr || known->attributes_size() < subject.attributes_size())
          known = &subject;
      }
  std::string out;
  for (const auto& [id, part] : parts) {
    absl::StrAppend(&out, part->kind(), " ", part->index(), ": ", part->model(), "\n  id ", id,
                    part->slot().empty() ? "" : absl::StrCat("\n  slot ", part->slot()), "\n");
    const std::map<std::string, std::string> attributes(part->attributes().begin(),
                                                        part->attributes().end());
    for (const auto& [name, value] : attributes)
      absl::StrAppend(&out, "  ", MetricWords(name, ""), " ", value, "\n");
  }
  return out.empty() ? "No check has identified a part of this node.\n" : out;
}

std::string FindingText(const v1::Finding& finding) {
  std::string out = absl::StrCat("    ", OutcomeWord(finding.outcome()), ": ",
                                 MetricWords(finding.metric(), finding.variant()));
  if (!finding.subject().empty()) absl::StrAppend(&out, " of ", finding.subject());
  if (!finding.slot().empty()) absl::StrAppend(&out, " in ", finding.slot());
  if (finding.has_value())
    absl::StrAppend(&out, ": ", PlotNumber(finding.value()), UnitWords(finding.unit()));
  if (finding.has_floor())
    absl::StrAppend(&out, ", limit ", PlotNumber(finding.floor()), UnitWords(finding.unit()), " (",
                    finding.source(), ")");
  if (!finding.message().empty()) absl::StrAppend(&out, "\n      ", finding.message());
  return absl::StrCat(out, "\n");
}

std::string Verdicts(const std::string& node, const v1::Validation& validation) {
  std::string out = absl::StrCat(validation.validation_id(), ", suite ", validation.suite(), ", ",
                                 When(ToTime(validation.created_at())), "\n");
  for (const v1::NodeVerdict& verdict : validation.nodes()) {
    if (verdict.node() != node) continue;
    for (const v1::CheckVerdict& check : verdict.checks()) {
      absl::StrAppend(&out, "  ", check.check(),
                      check.partner().empty() ? "" : absl::StrCat(" with ", check.partner()), ": ",
                      OutcomeWord(check.outcome()),
                      check.reason().empty() ? "" : absl::StrCat(": ", check.reason()), "\n");
      for (const v1::Finding& finding : check.findings())
        if (!IsFine(finding.outcome())) absl::StrAppend(&out, FindingText(finding));
    }
  }
  return out;
}

// The worker's own observations: addresses, values, log lines.
std::string Faults(const ValidationEvidence& evidence) {
  std::string out;
  for (const v1::NodeCheckResult& result : evidence.results)
    for (const v1::Fault& fault : result.result().faults()) {
      absl::StrAppend(&out, evidence.validation.validation_id(), " ", result.result().check(), " ",
                      fault.code(), " ", fault.subject(), ": ", fault.message(), "\n");
      for (const std::string& line : fault.evidence()) absl::StrAppend(&out, "    ", line, "\n");
    }
  return out;
}

std::string Readme(const std::string& node, const v1::Facts& facts,
                   const std::vector<ValidationEvidence>& evidence, absl::Time now) {
  std::string out =
      absl::StrCat("Evidence of the hardware checks of node ", node, "\nwritten ", When(now),
                   "\n\nsystem: ", facts.os().pretty_name(), ", kernel ", facts.os().kernel(),
                   ", NVIDIA driver ",
                   facts.nvidia_driver_version().empty() ? "none" : facts.nvidia_driver_version(),
                   "\nCPU: ", facts.cpu().model(), "\n", Underlined("Parts"), Parts(evidence),
                   Underlined("Verdicts"));
  for (const ValidationEvidence& each : evidence)
    absl::StrAppend(&out, Verdicts(node, each.validation), "\n");
  std::string faults;
  for (const ValidationEvidence& each : evidence) absl::StrAppend(&faults, Faults(each));
  if (!faults.empty()) absl::StrAppend(&out, Underlined("Faults that the checks found"), faults);
  return absl::StrCat(out, Underlined("Files"),
                      "facts.json       the facts that the node reported\n"
                      "ID/verdict.json  the verdicts of validation ID\n"
                      "ID/results.json  everything that its checks measured, including curves\n"
                      "ID/report.html   the same as a readable page\n");
}

std::string Text(const nlohmann::ordered_json& value) { return Format(value, OutputFormat::kJson); }

// The validation as if it had covered only this node.
v1::Validation OfNode(const std::string& node, const v1::Validation& validation) {
  v1::Validation out = validation;
  out.clear_nodes();
  for (const v1::NodeVerdict& verdict : validation.nodes())
    if (verdict.node() == node) *out.add_nodes() = verdict;
  return out;
}

}  // namespace

std::map<std::string, std::string> RmaFiles(const std::string& node, const v1::Facts& facts,
                                            const std::vector<ValidationEvidence>& evidence,
                                            absl::Time now) {
  std::map<std::string, std::string> files;
  files["README.txt"] = Readme(node, facts, evidence, now);
  files["facts.json"] = Text(ProtoToValue(facts));
  for (const ValidationEvidence& each : evidence) {
    const v1::Validation own = OfNode(node, each.validation);
    const std::string folder = absl::StrCat(own.validation_id(), "/");
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const v1::NodeCheckResult& result : each.results) results.push_back(ProtoToValue(result));
    files[folder + "verdict.json"] = Text(ProtoToValue(own));
    files[folder + "results.json"] = Text(results);
    files[folder + "report.html"] = RenderValidationPage(own, each.results, absl::UTCTimeZone());
  }
  return files;
}

}  // namespace muster::cli
