#include "controller/run/plan/values_of_facts.h"

#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "controller/store/stored_facts.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {

absl::StatusOr<FactsByNode> ReadAllFacts(Store& store) {
  FactsByNode facts;
  const v1::Facts type;
  RETURN_IF_ERROR(ForEachFacts(store, [&](const std::string& name, const std::string& text) {
    std::optional<Value> value = FoldMessage(type, text);
    if (value.has_value()) facts[name] = *std::move(value);
  }));
  return facts;
}

}  // namespace muster::controller
