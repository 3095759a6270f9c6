// JSON for the page.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace muster::controller {

// On one line, as an event needs it; bytes that are not UTF-8 become U+FFFD.
inline std::string ToJsonText(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster::controller
