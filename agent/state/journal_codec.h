// The journal's format: frames of {u32 length, u32 CRC-32C of the payload, payload}, little endian;
// a payload is a serialized JournalRecord and never empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "muster/v1/journal.pb.h"

namespace muster::agent {

inline constexpr size_t kFrameHeaderBytes = 8;
// The largest complete plan stays far below; a larger length is damage.
inline constexpr size_t kMaxRecordBytes = size_t{64} << 20;

// The header of a payload.
struct FrameHeader {
  size_t payload_bytes = 0;
  uint32_t checksum = 0;
};
// REQUIRES: `bytes` has kFrameHeaderBytes or more.
FrameHeader ReadFrameHeader(absl::string_view bytes);

// The record as one frame.
std::string FrameRecord(const v1::JournalRecord& record);

enum class JournalEnd {
  kClean,    // the last frame ends where the file ends
  kTorn,     // an append was cut off: the bytes after good_bytes never counted
  kDamaged,  // bytes that once counted have changed
};

struct DecodedJournal {
  std::vector<v1::JournalRecord> records;
  size_t good_bytes = 0;  // length of the frames of `records`
  JournalEnd end = JournalEnd::kClean;
  std::string problem;  // for the log; empty when clean
};

// Reads up to the first invalid frame. Never fails: any bytes have a valid prefix.
DecodedJournal DecodeJournal(absl::string_view bytes);

}  // namespace muster::agent
