// Plain HTTP for machines on which nothing of Muster is installed yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct MHD_Daemon;

namespace muster::controller {

// Serves GET and HEAD of /packages/<name>.deb from one folder: no other path, no listing, no links
// out of it. Downloads are checked against the digest in the join line, so plain HTTP is enough.
// Runs its own threads until it is destroyed.
class PackageServer {
 public:
  static constexpr unsigned kMaxConnections = 512;
  static constexpr unsigned kIdleSeconds = 60;

  // `listen` is "address:port"; port 0 takes a free one. InvalidArgument: not an address.
  // Unavailable: the port is taken.
  static absl::StatusOr<std::unique_ptr<PackageServer>> Start(const std::string& listen,
                                                              const std::string& folder);
  ~PackageServer();
  PackageServer(const PackageServer&) = delete;
  PackageServer& operator=(const PackageServer&) = delete;

  uint16_t port() const;

  // For libmicrohttpd's callback: an open file for the URL, or -1.
  int OpenPackage(absl::string_view url) const;

 private:
  explicit PackageServer(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace muster::controller
