#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"

namespace google::protobuf {
class Message;
}

namespace muster::cli {

// Prints the whole message as JSON or YAML, or the result of `table`, as -o demands.
void Show(const Context& context, const google::protobuf::Message& message,
          const std::function<std::string()>& table);

// The same for a value that was made from a message.
void Show(const Context& context, const nlohmann::ordered_json& value,
          const std::function<std::string()>& table);

// The message as one line of JSON, for readers of a stream.
std::string JsonLine(const google::protobuf::Message& message);

}  // namespace muster::cli
