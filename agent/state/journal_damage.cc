#include "agent/state/journal_damage.h"

#include <algorithm>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/crc32c.h"

namespace muster::agent {
namespace {

// The last records before the damage; more of them add no information.
constexpr size_t kMaxRecords = 50;

std::string KindOf(const v1::JournalRecord& record) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  record.GetReflection()->ListFields(record, &set);
  return set.empty() ? "unknown" : set.front()->name();
}

// The invalid frame, as far as its header can be read.
std::string DescribeFrame(absl::string_view rest) {
  if (rest.size() < kFrameHeaderBytes) return "";
  const FrameHeader header = ReadFrameHeader(rest);
  std::string text = absl::StrCat("  its header says ", header.payload_bytes, " bytes, checksum ",
                                  absl::Hex(header.checksum, absl::kZeroPad8));
  const absl::string_view behind = rest.substr(kFrameHeaderBytes);
  if (header.payload_bytes <= behind.size())
    absl::StrAppend(&text, "; the checksum of these bytes is ",
                    absl::Hex(Crc32c(behind.substr(0, header.payload_bytes)), absl::kZeroPad8));
  return absl::StrCat(text, "\n");
}

}  // namespace

std::string DescribeDamage(absl::string_view bytes, const DecodedJournal& decoded) {
  std::string text =
      absl::StrCat("A damaged journal of ", bytes.size(),
                   " bytes. Its content is left out: plans contain ", "secrets.\n\n");
  const size_t count = decoded.records.size();
  const size_t first = count - std::min(count, kMaxRecords);
  if (first > 0) absl::StrAppend(&text, first, " records, and behind them\n");
  for (size_t i = first; i < count; ++i)
    absl::StrAppend(&text, KindOf(decoded.records[i]), ", ", decoded.records[i].ByteSizeLong(),
                    " bytes\n");
  const absl::string_view rest = bytes.substr(decoded.good_bytes);
  absl::StrAppend(&text, decoded.problem, "\n", DescribeFrame(rest), "  from there on ",
                  rest.size(), " bytes, ", std::count(rest.begin(), rest.end(), '\0'),
                  " of them zero\n");
  return text;
}

}  // namespace muster::agent
