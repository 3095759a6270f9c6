#include "controller/validation/verdict/result_blob.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/base/status.h"
#include "common/checks/finite_values.h"

namespace muster::controller::validation {
namespace {

// An agent's message has 2 MiB at most.
constexpr size_t kMaxResultBytes = size_t{2} << 20;
// Each following buffer is four times as large, up to that.
constexpr size_t kFirstRoom = kMaxResultBytes / 64;

}  // namespace

v1::CheckResult Sanitize(v1::CheckResult result) {
  if (result.outcome() < v1::OUTCOME_PASS || result.outcome() > v1::OUTCOME_SKIPPED) {
    result.set_outcome(v1::OUTCOME_UNKNOWN);
    result.set_reason("the agent sent no outcome");
  }
  DropNonFinite(*result.mutable_metrics());
  DropNonFinite(*result.mutable_samples());
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

ResultUnpacker::ResultUnpacker() : stream_(std::make_unique<z_stream>()) {
  is_ready_ = ::inflateInit(stream_.get()) == Z_OK;
}

ResultUnpacker::~ResultUnpacker() {
  if (is_ready_) ::inflateEnd(stream_.get());
}

absl::Status ResultUnpacker::Unpack(absl::string_view blob, v1::CheckResult* result) {
  const absl::Status damaged = absl::DataLossError("the result is damaged in the store");
  if (!is_ready_ || ::inflateReset(stream_.get()) != Z_OK) {
    return absl::ResourceExhaustedError("not enough memory to unpack a result");
  }
  // zlib only reads it.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(blob.data()));
  stream_->avail_in = static_cast<uInt>(blob.size());
  size_t size = 0;
  // Most results are small: a buffer for the largest would cost more than everything else here.
  for (int status = Z_OK; status != Z_STREAM_END; size = stream_->total_out) {
    if (size == kMaxResultBytes) return damaged;
    if (size == plain_.size()) {
      plain_.resize(std::min(std::max(kFirstRoom, 4 * plain_.size()), kMaxResultBytes));
    }
    stream_->next_out = reinterpret_cast<Bytef*>(plain_.data() + size);
    stream_->avail_out = static_cast<uInt>(plain_.size() - size);
    status = ::inflate(stream_.get(), Z_NO_FLUSH);
    // Z_BUF_ERROR: the data is truncated.
    if (status != Z_OK && status != Z_STREAM_END) return damaged;
  }
  return result->ParseFromArray(plain_.data(), static_cast<int>(size)) ? absl::OkStatus() : damaged;
}

absl::StatusOr<v1::CheckResult> UnpackResult(const std::string& blob) {
  v1::CheckResult result;
  RETURN_IF_ERROR(ResultUnpacker().Unpack(blob, &result));
  return result;
}

void DropSamples(v1::CheckResult& result) {
  google::protobuf::RepeatedPtrField<v1::Sample>().Swap(result.mutable_samples());
}

}  // namespace muster::controller::validation
