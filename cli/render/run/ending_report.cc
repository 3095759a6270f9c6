#include "cli/render/run/ending_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/render/plain_text.h"
#include "cli/render/validation/validation_report.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

std::string PassedBefore(absl::string_view nodes) {
  return nodes.empty() ? "" : absl::StrCat("; ", nodes, " passed before");
}

}  // namespace

std::string DescribePrediction(absl::string_view suite, absl::string_view nodes,
                               absl::string_view passed_nodes) {
  if (nodes.empty()) {
    return absl::StrCat("nothing to validate: ", passed_nodes,
                        " already passed with the same hardware and software");
  }
  return absl::StrCat("suite ", suite, " tests ", nodes, PassedBefore(passed_nodes));
}

std::string RenderEnding(const v1::RunValidation& validation) {
  const std::string suite = absl::StrCat("suite ", validation.suite(), " of ", validation.nodes());
  switch (validation.state()) {
    case v1::RUN_VALIDATION_STATE_STARTED:
      return absl::StrCat("validation ", validation.validation_id(), ": ", suite,
                          PassedBefore(validation.passed_nodes()), "\n");
    case v1::RUN_VALIDATION_STATE_NOT_NEEDED:
    case v1::RUN_VALIDATION_STATE_PREDICTED:
      return absl::StrCat(
          "validation: ",
          DescribePrediction(validation.suite(), validation.nodes(), validation.passed_nodes()),
          "\n");
    case v1::RUN_VALIDATION_STATE_NOT_STARTED:
      return absl::StrCat("validation: ", suite, " was not started\n",
                          Indent(validation.message()));
    default:
      if (validation.message().empty()) {
        return absl::StrCat("validation: ", suite, " is about to start\n");
      }
      return absl::StrCat("validation: ", suite, " waits for its nodes\n",
                          Indent(validation.message()));
  }
}

std::string RenderEndings(const v1::Run& run) {
  std::string text;
  bool waits = false;
  for (const v1::RunValidation& validation : run.validations()) {
    text += RenderEnding(validation);
    waits |= validation.state() == v1::RUN_VALIDATION_STATE_WAITING;
  }
  if (waits)
    absl::StrAppend(&text, "to cancel what is waiting: muster validate cancel ", run.run_id(),
                    "\n");
  return text;
}

int ExitCodeWithEndings(int run_code, const std::vector<int>& validation_codes, bool detailed) {
  if (run_code != kExitClean && run_code != kExitChanges) return run_code;
  const auto has = [&](int code) {
    return std::find(validation_codes.begin(), validation_codes.end(), code) !=
           validation_codes.end();
  };
  if (has(kExitNotPassed)) return kExitNotPassed;
  if (has(kExitUnknown)) return detailed ? kExitNotPassed : kExitUnknown;
  return run_code;
}

}  // namespace muster::cli
