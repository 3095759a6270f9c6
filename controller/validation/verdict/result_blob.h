// Results of checks on their way from an agent into the store, which keeps them compressed: curves
// are highly repetitive.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/validation.pb.h"

struct z_stream_s;  // zlib's

namespace muster::controller::validation {

// A result from an agent, made fit to be judged: an invalid outcome becomes unknown, and values
// that are not numbers are dropped, as if they were missing.
v1::CheckResult Sanitize(v1::CheckResult result);

// zlib's format over the serialized message.
std::string PackResult(const v1::CheckResult& result);
// DataLoss: it is damaged, or larger than any result that an agent could send.
absl::StatusOr<v1::CheckResult> UnpackResult(const std::string& blob);

// Also frees their memory: clear_samples() would keep it for reuse.
void DropSamples(v1::CheckResult& result);

// Unpacks many results, one after another, reusing the memory of the first.
class ResultUnpacker {
 public:
  ResultUnpacker();
  ~ResultUnpacker();
  ResultUnpacker(const ResultUnpacker&) = delete;
  ResultUnpacker& operator=(const ResultUnpacker&) = delete;

  // As UnpackResult(), into *result, which may be in an arena.
  absl::Status Unpack(absl::string_view blob, v1::CheckResult* result);

 private:
  std::unique_ptr<z_stream_s> stream_;
  bool is_ready_ = false;
  std::string plain_;
};

}  // namespace muster::controller::validation
