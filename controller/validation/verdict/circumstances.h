// The circumstances of a measurement: only values measured under equal ones may be compared,
// whether with peers, with earlier ones of the same part, or to learn a floor. Pure.
#pragma once

#include <map>
#include <string>

#include "common/checks/catalog.h"
#include "controller/validation/suite/suite.h"

namespace muster::v1 {
class CheckResult;
class Subject;
}  // namespace muster::v1

namespace muster::controller::validation {

// A digest of the parameters that shape the measurement, including defaults: a burn of eight
// seconds is not one of three minutes. Excludes parameters that choose parts, such as `gpus`, and
// limits, such as `max-temperature`. 16 characters. `given` are those of the suite, after parsing.
std::string ParametersDigest(const checks::CheckSpec& check,
                             const std::map<std::string, std::string>& given);

// The same for `check` of `stage`. A check that loads the node shares it with those that do so side
// by side with it: they and their parameters shape what it measures too.
std::string ParametersDigest(const SuiteStage& stage, const SuiteCheck& check);

// The engines and libraries that measured, "cublas 11.11.3, own kernel sm_75", in an order that
// does not depend on the worker's. Excludes those that do not affect the values.
std::string EnginesOf(const v1::CheckResult& result);

// Equal for values that may be compared, as far as the result knows: the engines, and the part as
// in population.h. For the node (`subject` is nullptr) all of its parts count. The caller adds the
// parameters.
std::string CircumstancesOf(const v1::CheckResult& result, const v1::Subject* subject);

}  // namespace muster::controller::validation
