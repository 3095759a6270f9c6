// A machine that is not a node yet tells the boot server of itself, until it has become one.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
class HttpClient;
}  // namespace muster::sys

namespace muster::agent {

class FactsGatherer;

// Not thread-safe.
class Discovery {
 public:
  // Long enough for hundreds of machines, short enough for a person who waits for the reboot.
  static constexpr absl::Duration kInterval = absl::Seconds(15);

  struct Means {
    sys::HttpClient& http;
    sys::FileSystem& files;
    Clock& clock;
    FactsGatherer& facts;
    std::string scratch;  // a file that gets the server's answers
    // Hears what is happening, a line at a time.
    std::function<void(absl::string_view line)> say;
  };

  // `url` is that of the boot server's script. What `means` refers to must outlive the object.
  Discovery(Means means, std::string url);

  // Tells it once. True: the inventory has the machine now. Errors as of HttpClient.
  absl::StatusOr<bool> Tell();
  // Tells it again and again; returns when the inventory has the machine. A server that does not
  // answer is asked again.
  void UntilAdopted();

 private:
  const Means means_;
  const std::string url_;
};

}  // namespace muster::agent
