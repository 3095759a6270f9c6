// Whatever an agent reports about a check is judged, kept and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/message_differencer.h>

#include "common/checks/catalog.h"
#include "controller/validation/verdict/result_blob.h"
#include "controller/validation/verdict/verdict.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(check_report, data, size) {
  using namespace muster;
  using namespace muster::controller::validation;
  // Otherwise a line for each text that is not UTF-8 would hide everything else.
  const google::protobuf::LogSilencer silencer;
  v1::CheckResult sent;
  if (!sent.ParseFromArray(data, static_cast<int>(size))) return 0;
  const v1::CheckResult result = Sanitize(sent);
  for (const checks::CheckSpec* spec : checks::Checks()) {
    const v1::CheckVerdict verdict = JudgeCheck(result, *spec, Expectation(), {});
    if (verdict.outcome() < v1::OUTCOME_PASS || verdict.outcome() > v1::OUTCOME_SKIPPED)
      std::abort();
    if (verdict.outcome() == v1::OUTCOME_PASS && result.outcome() != v1::OUTCOME_PASS) std::abort();
  }
  const auto again = UnpackResult(PackResult(result));
  if (!again.ok() || !google::protobuf::util::MessageDifferencer::Equals(*again, result))
    std::abort();
  (void)UnpackResult(std::string(reinterpret_cast<const char*>(data), size)).ok();
  return 0;
}
