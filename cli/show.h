#pragma once

#include <functional>
#include <string>

#include "cli/context.h"

namespace google::protobuf {
class Message;
}

namespace muster::cli {

// Prints the whole message as JSON or YAML, or what `table` makes of it, as -o asks for.
void Show(const Context& context, const google::protobuf::Message& message,
          const std::function<std::string()>& table);

}  // namespace muster::cli
