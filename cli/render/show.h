#pragma once

#include <functional>
#include <iosfwd>
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

// Where words for people go: with -o json the output has JSON alone.
std::ostream& Words(const Context& context);

// The message as one line of JSON, for readers of a stream.
std::string JsonLine(const google::protobuf::Message& message);

}  // namespace muster::cli
