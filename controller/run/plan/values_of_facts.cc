#include "controller/run/plan/values_of_facts.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "common/value/proto_value.h"
#include "controller/store/stored_facts.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {

absl::StatusOr<FactsByNode> ReadAllFacts(Store& store) {
  FactsByNode facts;
  v1::Facts parsed;
  RETURN_IF_ERROR(ForEachFacts(store, [&](const std::string& name, const std::string& text) {
    if (!parsed.ParseFromString(text)) return;
    Value value = ProtoToValue(parsed);
    for (Value& field : value) {
      if (field.is_structured() && !field.empty()) field = Fold(field);
    }
    facts[name] = std::move(value);
  }));
  return facts;
}

}  // namespace muster::controller
