#include "common/base/text/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr size_t kNetworkBytes = 8;  // of a /64

// Newer versions of gRPC escape the brackets and the '%' of a scope.
std::string Unescape(absl::string_view peer) {
  return absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
}

// The address without its port.
struct Host {
  std::string text;              // as PeerHost() returns it
  std::optional<in6_addr> ipv6;  // nullopt: it is another one
};

Host HostOf(absl::string_view peer) {
  std::string host = Unescape(peer);
  if (const size_t port = host.rfind(':'); port != std::string::npos) host.resize(port);
  absl::string_view address = host;
  if (absl::ConsumePrefix(&address, "ipv4:")) return {std::string(address), std::nullopt};
  if (!absl::ConsumePrefix(&address, "ipv6:[") || !absl::ConsumeSuffix(&address, "]"))
    return {host, std::nullopt};
  const absl::string_view plain = address.substr(0, address.find('%'));
  in6_addr parsed = {};
  if (inet_pton(AF_INET6, std::string(plain).c_str(), &parsed) != 1) return {host, std::nullopt};
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) {
    inet_ntop(AF_INET, parsed.s6_addr + 12, text, sizeof text);
    return {text, std::nullopt};
  }
  inet_ntop(AF_INET6, &parsed, text, sizeof text);
  return {absl::StrCat(text, address.substr(plain.size())), parsed};
}

}  // namespace

std::string PeerAddress(absl::string_view peer) {
  const std::string plain = Unescape(peer);
  absl::string_view address = plain;
  if (!absl::ConsumePrefix(&address, "ipv4:")) absl::ConsumePrefix(&address, "ipv6:");
  return std::string(address);
}

std::string PeerHost(absl::string_view peer) { return HostOf(peer).text; }

std::string PeerNetwork(absl::string_view peer) {
  Host host = HostOf(peer);
  if (!host.ipv6.has_value()) return std::move(host.text);
  in6_addr& base = *host.ipv6;
  std::memset(base.s6_addr + kNetworkBytes, 0, sizeof base.s6_addr - kNetworkBytes);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &base, text, sizeof text);
  return absl::StrCat(text, "/64");
}

std::optional<uint16_t> PeerPort(absl::string_view peer) {
  if (!absl::StartsWith(peer, "ipv4:") && !absl::StartsWith(peer, "ipv6:")) return std::nullopt;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(peer.substr(peer.rfind(':') + 1), &port) || port > UINT16_MAX)
    return std::nullopt;
  return static_cast<uint16_t>(port);
}

}  // namespace muster
