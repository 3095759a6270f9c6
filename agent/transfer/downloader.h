// Downloads contents from the web.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/resources/blob_source.h"
#include "agent/transfer/hooks.h"
#include "agent/transfer/partial.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"

namespace muster::agent {

// Tries the urls of a content in order, each several times, until one gives the right digest.
// Continues the work of an earlier attempt, another mirror or an earlier life of the agent: in the
// end the digest shows whether the parts fit, and if not, all of it is fetched anew. Thread-safe
// for different contents.
class Downloader {
 public:
  struct Options {
    absl::Duration first_backoff = absl::Seconds(1);
    absl::Duration longest_backoff = absl::Seconds(30);
    absl::Duration connect_timeout = absl::Seconds(15);
    absl::Duration stall_timeout = absl::Seconds(30);
  };

  // All outlive the downloader.
  Downloader(Options options, sys::HttpClient& http, sys::FileSystem& files, Clock& clock)
      : options_(options), http_(http), files_(files), clock_(clock) {}

  // Blocks until the file at `path` has the content, synced to the disk. An error names each url
  // that was tried and why it failed; the received part stays for the next call.
  absl::Status Fetch(const Content& content, const std::string& path, const TransferHooks& hooks);

 private:
  class Attempt;

  const Options options_;
  sys::HttpClient& http_;
  sys::FileSystem& files_;
  Clock& clock_;
};

}  // namespace muster::agent
