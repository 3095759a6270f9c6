#include "controller/enrollment/refusal_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace muster::controller {
namespace {

constexpr size_t kNetworkBytes = 8;  // of a /64

}  // namespace

std::string NetworkOfPeer(absl::string_view peer) {
  // Newer versions of gRPC escape the brackets and the '%' of a scope.
  std::string host = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  if (const size_t port = host.rfind(':'); port != std::string::npos) host.resize(port);
  absl::string_view address = host;
  if (absl::ConsumePrefix(&address, "ipv4:")) return std::string(address);
  if (!absl::ConsumePrefix(&address, "ipv6:[") || !absl::ConsumeSuffix(&address, "]")) return host;
  in6_addr parsed = {};
  if (inet_pton(AF_INET6, std::string(address.substr(0, address.find('%'))).c_str(), &parsed) != 1)
    return host;
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) {
    inet_ntop(AF_INET, parsed.s6_addr + 12, text, sizeof text);
    return text;
  }
  std::memset(parsed.s6_addr + kNetworkBytes, 0, sizeof parsed.s6_addr - kNetworkBytes);
  inet_ntop(AF_INET6, &parsed, text, sizeof text);
  return absl::StrCat(text, "/64");
}

std::optional<std::string> RefusalLog::Note(absl::string_view peer, absl::Time now) {
  std::string network = NetworkOfPeer(peer);
  absl::MutexLock lock(&mutex_);
  std::string before;
  if (now - begin_ >= kInterval) {
    before = TellPassedOver();
    begin_ = now;
    logged_.clear();
    others_ = 0;
  }
  if (const auto found = logged_.find(network); found != logged_.end()) {
    ++found->second;
    return std::nullopt;
  }
  if (logged_.size() == kMaxEntries) {
    ++others_;
    return std::nullopt;
  }
  logged_.emplace(std::move(network), 0);
  return before;
}

std::string RefusalLog::TellPassedOver() const {
  if (logged_.empty()) return "";
  uint64_t count = others_;
  const auto* most = &*logged_.begin();
  for (const auto& entry : logged_) {
    count += entry.second;
    if (entry.second > most->second) most = &entry;
  }
  if (count == 0) return "";
  std::string text = absl::StrCat(count, " more refusals since ",
                                  absl::FormatTime("%Y-%m-%d %H:%M", begin_, absl::UTCTimeZone()),
                                  " UTC have no entry");
  if (most->second > 0) absl::StrAppend(&text, ", ", most->second, " of them of ", most->first);
  return text;
}

}  // namespace muster::controller
