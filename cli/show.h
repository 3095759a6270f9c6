// Prints a response the way -o asks for.
#pragma once

#include <functional>
#include <iostream>
#include <string>

#include "cli/context.h"
#include "cli/output.h"
#include "common/value/proto_value.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

namespace muster::cli {

// The whole message as JSON or YAML, or what `table` makes of it.
inline void Show(const Context& context, const google::protobuf::Message& message,
                 const std::function<std::string()>& table) {
  if (context.output == OutputFormat::kTable) {
    std::cout << table();
  } else {
    std::cout << Format(ProtoToValue(message), context.output);
  }
}

}  // namespace muster::cli
