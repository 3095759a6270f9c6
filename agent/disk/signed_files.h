// What firmware with Secure Boot starts from the disk, on its way from the boot server.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
class HttpClient;
}  // namespace muster::sys

namespace muster::agent::disk {

class SignedFiles {
 public:
  struct Means {
    sys::FileSystem& files;
    sys::HttpClient& http;
    Clock& clock;
    std::string server;  // "http://10.0.0.1:7483", as it was signed
    std::string folder;  // of root's, in memory
  };

  // What `means` refers to must outlive the object.
  explicit SignedFiles(Means means) : means_(std::move(means)) {}

  // Fetches a file of so many bytes by plain HTTP, anew where that fails, and returns its path in
  // the folder. `path` is that on the server. DataLoss: it has another digest.
  absl::StatusOr<std::string> Fetch(const std::string& path, const std::string& sha256,
                                    uint64_t bytes);

 private:
  const Means means_;
};

}  // namespace muster::agent::disk
