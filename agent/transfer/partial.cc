#include "agent/transfer/partial.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr absl::string_view kFirstLine = "muster partial 1";
constexpr size_t kMaxRecord = 4 << 10;

}  // namespace

std::string FormatPartial(const Partial& partial) {
  return absl::StrCat(kFirstLine, "\n", partial.source, "\n", partial.validator, "\n",
                      partial.total.has_value() ? absl::StrCat(*partial.total) : "", "\n");
}

std::optional<Partial> ParsePartial(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() != 5 || lines[0] != kFirstLine || !lines[4].empty() ||
      text.find('\0') != absl::string_view::npos)
    return std::nullopt;
  Partial partial = {.source = std::string(lines[1]), .validator = std::string(lines[2])};
  if (lines[3].empty()) return partial;
  uint64_t total = 0;
  if (lines[3].find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(lines[3], &total))
    return std::nullopt;
  partial.total = total;
  return partial;
}

absl::StatusOr<uint64_t> PartialFile::Size() const {
  if (!Read().has_value()) return 0;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(path_));
  return stat.has_value() && stat->type == sys::FileType::kRegular ? stat->size : 0;
}

std::optional<Partial> PartialFile::Read() const {
  const absl::StatusOr<std::string> text = files_.Read(record_, kMaxRecord);
  return text.ok() ? ParsePartial(*text) : std::nullopt;
}

absl::Status PartialFile::Write(const Partial& partial) {
  return files_.WriteAtomically(record_, FormatPartial(partial), {.mode = 0600});
}

absl::Status PartialFile::Remove() {
  RETURN_IF_ERROR(files_.Remove(path_, /*recursive=*/false));
  return RemoveRecord();
}

absl::Status PartialFile::RemoveRecord() { return files_.Remove(record_, /*recursive=*/false); }

}  // namespace muster::agent
