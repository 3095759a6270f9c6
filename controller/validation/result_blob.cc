#include "controller/validation/result_blob.h"

#include <zlib.h>

#include <cmath>
#include <cstddef>

namespace muster::controller::validation {
namespace {

// A message of an agent has 2 MiB at most.
constexpr size_t kMaxResultBytes = size_t{2} << 20;
// The next are four times as large each, up to that.
constexpr size_t kFirstRoom = kMaxResultBytes / 64;

template <typename Values>
void DropWhatIsNoNumber(Values& values) {
  int kept = 0;
  for (int i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i].value())) continue;
    if (kept != i) values.SwapElements(kept, i);
    ++kept;
  }
  values.DeleteSubrange(kept, values.size() - kept);
}

}  // namespace

v1::CheckResult Sanitize(v1::CheckResult result) {
  if (result.outcome() < v1::OUTCOME_PASS || result.outcome() > v1::OUTCOME_SKIPPED) {
    result.set_outcome(v1::OUTCOME_UNKNOWN);
    result.set_reason("the agent sent no outcome");
  }
  DropWhatIsNoNumber(*result.mutable_metrics());
  DropWhatIsNoNumber(*result.mutable_samples());
  if (!std::isfinite(result.seconds()) || result.seconds() < 0) result.clear_seconds();
  return result;
}

std::string PackResult(const v1::CheckResult& result) {
  const std::string plain = result.SerializeAsString();
  uLongf size = ::compressBound(plain.size());
  std::string packed(size, '\0');
  // Cannot fail: the bound is large enough.
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  packed.resize(size);
  return packed;
}

absl::StatusOr<v1::CheckResult> UnpackResult(const std::string& blob) {
  // Most results are small: room for the largest would cost more than all else here.
  std::string plain;
  uLongf size = 0;
  int status = Z_BUF_ERROR;
  for (size_t room = kFirstRoom; status == Z_BUF_ERROR && room <= kMaxResultBytes; room *= 4) {
    plain.resize(room);
    size = plain.size();
    status = ::uncompress(reinterpret_cast<Bytef*>(plain.data()), &size,
                          reinterpret_cast<const Bytef*>(blob.data()), blob.size());
  }
  v1::CheckResult result;
  if (status != Z_OK || !result.ParseFromArray(plain.data(), static_cast<int>(size))) {
    return absl::DataLossError("the result is damaged in the store");
  }
  return result;
}

}  // namespace muster::controller::validation
