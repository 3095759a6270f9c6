#include "cli/render/validation/suite_texts.h"

#include <map>

#include "muster/v1/validation.pb.h"

namespace muster::cli {

std::set<std::string> OfEarlierTexts(
    const google::protobuf::RepeatedPtrField<v1::Validation>& newest_first) {
  std::map<std::string, std::string> newest;  // suite → digest
  std::set<std::string> earlier;
  for (const v1::Validation& validation : newest_first) {
    const auto known = newest.emplace(validation.suite(), validation.suite_digest()).first;
    if (known->second != validation.suite_digest()) earlier.insert(validation.validation_id());
  }
  return earlier;
}

}  // namespace muster::cli
