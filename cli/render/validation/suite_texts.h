// Finds validations of an earlier text of their suite.
#pragma once

#include <set>
#include <string>

#include "google/protobuf/repeated_ptr_field.h"

namespace muster::v1 {
class Validation;
}

namespace muster::cli {

// The ids of those whose suite or hardware files differ from those of the newest validation of the
// same suite: a pass then is not a pass of what is demanded now.
std::set<std::string> OfEarlierTexts(
    const google::protobuf::RepeatedPtrField<v1::Validation>& newest_first);

}  // namespace muster::cli
