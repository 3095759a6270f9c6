#include "controller/run/plan/values_of_facts.h"

#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/hash/hash.h"
#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "controller/store/stored_facts.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {

absl::StatusOr<FactsByNode> ReadAllFacts(Store& store) {
  KeptFacts none;
  ASSIGN_OR_RETURN(const std::unique_ptr<KeptFacts::Values> values, none.Take(store));
  return std::move(values->facts);
}

absl::StatusOr<std::unique_ptr<KeptFacts::Values>> KeptFacts::Take(Store& store) {
  std::unique_ptr<Values> values;
  {
    absl::MutexLock lock(&mutex_);
    values = std::move(values_);
  }
  if (values == nullptr) values = std::make_unique<Values>();
  absl::flat_hash_map<std::string, size_t> marks;
  const v1::Facts type;
  RETURN_IF_ERROR(ForEachFacts(store, [&](const std::string& name, const std::string& text) {
    const size_t mark = absl::HashOf(text);
    marks[name] = mark;
    if (const auto kept = values->marks.find(name);
        kept != values->marks.end() && kept->second == mark)
      return;
    values->facts.erase(name);
    std::optional<Value> value = FoldMessage(type, text);
    if (value.has_value()) values->facts[name] = *std::move(value);
  }));
  for (const auto& [name, mark] : values->marks) {
    if (!marks.contains(name)) values->facts.erase(name);
  }
  values->marks = std::move(marks);
  return values;
}

void KeptFacts::GiveBack(std::unique_ptr<Values> values) {
  absl::MutexLock lock(&mutex_);
  values_ = std::move(values);
}

void KeptFacts::Forget() {
  absl::MutexLock lock(&mutex_);
  values_.reset();
}

}  // namespace muster::controller
