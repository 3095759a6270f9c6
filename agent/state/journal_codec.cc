#include "agent/state/journal_codec.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/crc32c.h"

namespace muster::agent {
namespace {

// Limit on the search for frames after a bad one.
constexpr size_t kSearchBudgetBytes = size_t{64} << 20;

void PutU32(uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

uint32_t GetU32(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return value;
}

enum class Frame { kGood, kCutOff, kBad };

// Looks at the frame at the start of `bytes`; fills in `payload` when it is good.
Frame ReadFrame(absl::string_view bytes, absl::string_view& payload) {
  if (bytes.size() < kFrameHeaderBytes) return Frame::kCutOff;
  const size_t length = GetU32(bytes);
  if (length == 0 || length > kMaxRecordBytes) return Frame::kBad;
  if (bytes.size() - kFrameHeaderBytes < length) return Frame::kCutOff;
  payload = bytes.substr(kFrameHeaderBytes, length);
  return Crc32c(payload) == GetU32(bytes.substr(4)) ? Frame::kGood : Frame::kBad;
}

// A good frame after a bad one means that the bad one was complete once: a flipped length looks
// like a torn tail otherwise.
bool HoldsAFrame(absl::string_view bytes) {
  size_t spent = 0;
  for (size_t at = 1; at + kFrameHeaderBytes < bytes.size() && spent < kSearchBudgetBytes; ++at) {
    const absl::string_view rest = bytes.substr(at);
    const size_t length = GetU32(rest);
    if (length == 0 || length > rest.size() - kFrameHeaderBytes) continue;
    spent += length;
    absl::string_view payload;
    v1::JournalRecord record;
    if (ReadFrame(rest, payload) == Frame::kGood &&
        record.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
      return true;
    }
  }
  return false;
}

bool AllZero(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

}  // namespace

FrameHeader ReadFrameHeader(absl::string_view bytes) {
  return {GetU32(bytes), GetU32(bytes.substr(4))};
}

std::string FrameRecord(const v1::JournalRecord& record) {
  const std::string payload = record.SerializeAsString();
  std::string frame;
  frame.reserve(kFrameHeaderBytes + payload.size());
  PutU32(static_cast<uint32_t>(payload.size()), frame);
  PutU32(Crc32c(payload), frame);
  frame += payload;
  return frame;
}

DecodedJournal DecodeJournal(absl::string_view bytes) {
  DecodedJournal journal;
  while (journal.good_bytes < bytes.size()) {
    const absl::string_view rest = bytes.substr(journal.good_bytes);
    absl::string_view payload;
    Frame frame = ReadFrame(rest, payload);
    if (frame == Frame::kGood) {
      v1::JournalRecord record;
      if (record.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
        journal.records.push_back(std::move(record));
        journal.good_bytes += kFrameHeaderBytes + payload.size();
        continue;
      }
      frame = Frame::kBad;
    }
    // A power cut may also leave a tail of zeros where the file had grown before the data reached
    // the disk.
    const bool torn = (frame == Frame::kCutOff && !HoldsAFrame(rest)) || AllZero(rest);
    journal.end = torn ? JournalEnd::kTorn : JournalEnd::kDamaged;
    journal.problem =
        absl::StrCat("byte ", journal.good_bytes, " of ", bytes.size(), ": ",
                     torn ? "the last record was cut off" : "a record does not match its checksum");
    break;
  }
  return journal;
}

}  // namespace muster::agent
