#include "agent/validation/check_files.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {

bool IsCheckId(absl::string_view check_id) {
  if (check_id.empty() || check_id.size() > 200 || check_id.front() == '.') return false;
  for (const char c : check_id) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_' && c != '-' && c != '/') return false;
  }
  return true;
}

std::string CheckFiles::PathOf(const std::string& check_id) const {
  return absl::StrCat(directory_, "/", absl::StrReplaceAll(check_id, {{"/", "+"}}));
}

absl::StatusOr<std::vector<v1::CheckRecord>> CheckFiles::List() {
  std::vector<v1::CheckRecord> records;
  ASSIGN_OR_RETURN(const auto stat, files_.Stat(directory_));
  if (!stat.has_value()) return records;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(directory_, "/", name);
    const absl::StatusOr<std::string> content = files_.Read(path);
    v1::CheckRecord record;
    if (content.ok() && record.ParseFromString(*content) && IsCheckId(record.check_id()) &&
        PathOf(record.check_id()) == path) {
      records.push_back(std::move(record));
    } else {
      RETURN_IF_ERROR(files_.Remove(path, /*recursive=*/false));
    }
  }
  return records;
}

absl::StatusOr<v1::CheckRecord> CheckFiles::Get(const std::string& check_id) {
  ASSIGN_OR_RETURN(const std::string content, files_.Read(PathOf(check_id)));
  v1::CheckRecord record;
  if (!record.ParseFromString(content)) {
    return absl::DataLossError(absl::StrCat(PathOf(check_id), " is damaged"));
  }
  return record;
}

absl::Status CheckFiles::Put(const v1::CheckRecord& record) {
  RETURN_IF_ERROR(files_.MakeDirectory(directory_, 0700));
  return files_.WriteAtomically(PathOf(record.check_id()), record.SerializeAsString(),
                                {.mode = 0600});
}

std::string CheckFiles::KeyFileOf(const std::string& check_id) const {
  return absl::StrCat(PathOf(check_id), "~key");
}

absl::Status CheckFiles::PutKey(const std::string& check_id, absl::string_view key) {
  return files_.WriteAtomically(KeyFileOf(check_id), absl::BytesToHexString(key), {.mode = 0600});
}

absl::Status CheckFiles::RemoveKey(const std::string& check_id) {
  return files_.Remove(KeyFileOf(check_id), /*recursive=*/false);
}

absl::Status CheckFiles::Remove(const std::string& check_id) {
  RETURN_IF_ERROR(RemoveKey(check_id));
  return files_.Remove(PathOf(check_id), /*recursive=*/false);
}

}  // namespace muster::agent
