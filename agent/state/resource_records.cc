#include "agent/state/resource_records.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::agent {

std::string ResourceRecords::PathOf(absl::string_view kind, absl::string_view key) const {
  // The digest keeps keys apart; the words before it are for human readers.
  std::string words;
  for (const char c : key.substr(0, 60)) {
    words += absl::ascii_isalnum(c) || c == '.' || c == '-' ? c : '_';
  }
  return absl::StrCat(directory_, "/", kind, "/", words, "-", Sha256Hex(key).substr(0, 16));
}

absl::StatusOr<std::optional<std::string>> ResourceRecords::Get(absl::string_view kind,
                                                                absl::string_view key) const {
  absl::StatusOr<std::string> record = files_.Read(PathOf(kind, key));
  if (absl::IsNotFound(record.status())) return std::optional<std::string>();
  if (!record.ok()) return record.status();
  return std::optional<std::string>(*std::move(record));
}

absl::Status ResourceRecords::Put(absl::string_view kind, absl::string_view key,
                                  const std::string& record) {
  RETURN_IF_ERROR(files_.MakeDirectory(absl::StrCat(directory_, "/", kind), 0700));
  return files_.WriteAtomically(PathOf(kind, key), record, {.mode = 0600});
}

absl::Status ResourceRecords::Remove(absl::string_view kind, absl::string_view key) {
  return files_.Remove(PathOf(kind, key), /*recursive=*/false);
}

}  // namespace muster::agent
