#include "cli/render/show.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/value/proto_value.h"
#include "google/protobuf/message.h"

namespace muster::cli {

void Show(const Context& context, const google::protobuf::Message& message,
          const std::function<std::string()>& table) {
  if (context.output == OutputFormat::kTable) {
    std::cout << Tame(table());
  } else {
    std::cout << Format(ProtoToValue(message), context.output);
  }
}

void Show(const Context& context, const nlohmann::ordered_json& value,
          const std::function<std::string()>& table) {
  std::cout << (context.output == OutputFormat::kTable ? Tame(table())
                                                       : Format(value, context.output));
}

std::ostream& Words(const Context& context) {
  return context.output == OutputFormat::kTable ? std::cout : std::cerr;
}

std::string JsonLine(const google::protobuf::Message& message) {
  return ProtoToValue(message).dump(-1, ' ', false,
                                    nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace muster::cli
