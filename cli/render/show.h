#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"

namespace google::protobuf {
class Message;
}

namespace muster::cli {

// Prints the whole message as JSON or YAML, or what `table` makes of it, as -o asks for.
void Show(const Context& context, const google::protobuf::Message& message,
          const std::function<std::string()>& table);

// The same of what was made of a message.
void Show(const Context& context, const nlohmann::ordered_json& value,
          const std::function<std::string()>& table);

// The message as one line of JSON, for who reads a stream of them.
std::string JsonLine(const google::protobuf::Message& message);

}  // namespace muster::cli
