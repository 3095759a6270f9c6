#include "agent/burnin/input_line.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

using Json = nlohmann::json;

absl::StatusOr<Endpoint> ParseEndpoint(const Json& json) {
  if (!json.is_object()) return absl::InvalidArgumentError("a peer is not an object");
  const auto address = json.find("address");
  const auto port = json.find("port");
  if (address == json.end() || !address->is_string() ||
      address->get_ref<const std::string&>().empty())
    return absl::InvalidArgumentError("a peer has no address");
  if (port == json.end() || !port->is_number_unsigned() || port->get<uint64_t>() == 0 ||
      port->get<uint64_t>() > 65535)
    return absl::InvalidArgumentError("a peer has no port from 1 to 65535");
  return Endpoint{.address = address->get<std::string>(), .port = port->get<int>()};
}

}  // namespace

absl::StatusOr<InputLine> ParseInputLine(absl::string_view line) {
  if (line.size() > kMaxInputLine) return absl::InvalidArgumentError("the line is too long");
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("the line is not a JSON object");
  InputLine input;
  if (const auto stop = json.find("stop"); stop != json.end()) {
    if (!stop->is_string()) return absl::InvalidArgumentError("stop is not text");
    input.stop = stop->get<std::string>();
    if (input.stop.empty()) input.stop = "no reason was given";
    return input;
  }
  const auto peers = json.find("peers");
  if (peers == json.end() || !peers->is_array() || peers->empty())
    return absl::InvalidArgumentError("the line has neither peers nor stop");
  for (const Json& peer : *peers) {
    absl::StatusOr<Endpoint> endpoint = ParseEndpoint(peer);
    if (!endpoint.ok()) return endpoint.status();
    input.peers.push_back(*std::move(endpoint));
  }
  return input;
}

}  // namespace muster::burnin
