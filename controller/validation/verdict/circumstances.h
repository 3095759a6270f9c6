// Under which circumstances a value was measured: only values of equal ones may be compared, be it
// with peers, with earlier ones of the same part, or to learn a floor. Pure.
#pragma once

#include <map>
#include <string>

#include "common/checks/catalog.h"

namespace muster::v1 {
class CheckResult;
class Subject;
}  // namespace muster::v1

namespace muster::controller::validation {

// Of the parameters that shape what the check measures, those by default included: a burn of eight
// seconds is none of three minutes. Not of those that choose parts, such as `gpus`, nor of limits,
// such as `max-temperature`. 16 characters. `given` are those of the suite, which has been read.
std::string ParametersDigest(const checks::CheckSpec& check,
                             const std::map<std::string, std::string>& given);

// The engines and libraries that measured, "cublas 11.11.3, own kernel sm_75", in an order that
// does not depend on the worker's. Not those that have no part in the values.
std::string EnginesOf(const v1::CheckResult& result);

// Equal for values that may be compared, as far as the result knows: the engines, and the part as
// population.h has it. Of the node (`subject` is nullptr) all of its parts count. Who compares adds
// the parameters.
std::string CircumstancesOf(const v1::CheckResult& result, const v1::Subject* subject);

}  // namespace muster::controller::validation
