// Which validations were of another text of their suite than it has now.
#pragma once

#include <set>
#include <string>

#include "google/protobuf/repeated_ptr_field.h"

namespace muster::v1 {
class Validation;
}

namespace muster::cli {

// Ids of those whose suite or hardware files were others than those of the newest one of the same
// suite: what passed then has not passed what is asked now.
std::set<std::string> OfEarlierTexts(
    const google::protobuf::RepeatedPtrField<v1::Validation>& newest_first);

}  // namespace muster::cli
