#include "controller/playbook/schema/given.h"

#include <nlohmann/json.hpp>

namespace muster::controller::playbook {

bool GivenValues::Has(absl::string_view key) const {
  const auto found = map_.find(std::string(key));
  return found != map_.end() && !found->is_null();
}

std::optional<std::string> GivenValues::Text(absl::string_view key) const {
  if (!Has(key)) return "";
  const Value& value = map_.at(std::string(key));
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace muster::controller::playbook
