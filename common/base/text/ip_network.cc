#include "common/base/text/ip_network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Whoever trusts more than that means something else.
constexpr uint32_t kShortestPrefix = 8;
constexpr uint32_t kBits = 32;
constexpr uint32_t kLoopbackNet = 127;  // the first byte

std::optional<uint32_t> AddressOf(absl::string_view text) {
  in_addr parsed = {};
  if (inet_pton(AF_INET, std::string(text).c_str(), &parsed) != 1) return std::nullopt;
  return ntohl(parsed.s_addr);
}

}  // namespace

absl::StatusOr<IpNetwork> IpNetwork::Parse(absl::string_view text) {
  const size_t slash = text.find('/');
  uint32_t prefix = 0;
  std::optional<uint32_t> base;
  if (slash != absl::string_view::npos && absl::SimpleAtoi(text.substr(slash + 1), &prefix))
    base = AddressOf(text.substr(0, slash));
  if (!base.has_value() || prefix < kShortestPrefix || prefix > kBits)
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a network such as 10.0.0.0/24"));
  const uint32_t mask = ~uint32_t{0} << (kBits - prefix);
  if ((*base & ~mask) != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is an address within a network of ", prefix, " bits"));
  return IpNetwork(*base, mask);
}

bool IpNetwork::Contains(absl::string_view address) const {
  const std::optional<uint32_t> parsed = AddressOf(address);
  return parsed.has_value() && (*parsed & mask_) == base_;
}

bool IsLoopbackHost(absl::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  const std::optional<uint32_t> parsed = AddressOf(host);
  return parsed.has_value() && *parsed >> 24 == kLoopbackNet;
}

}  // namespace muster
