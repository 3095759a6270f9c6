#include "controller/backup/backup_record.h"

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxRecord = size_t{64} << 10;
constexpr size_t kMaxError = 1000;

std::string RecordPath(const std::string& state_directory) {
  return absl::StrCat(state_directory, "/last_backup");
}

absl::Status WriteRecord(const std::string& state_directory, const v1::BackupRecord& record) {
  // For musterd, whoever makes the backup.
  return sys::RealFileSystem().WriteAtomically(RecordPath(state_directory),
                                               record.SerializeAsString(), {.mode = 0644});
}

}  // namespace

v1::BackupRecord ReadBackupRecord(const std::string& state_directory) {
  const absl::StatusOr<std::string> text =
      sys::RealFileSystem().Read(RecordPath(state_directory), kMaxRecord);
  v1::BackupRecord record;
  if (!text.ok() || !record.ParseFromString(*text)) record.Clear();
  return record;
}

absl::Status RecordBackup(const std::string& state_directory, const std::string& file,
                          absl::Time made_at) {
  v1::BackupRecord record;
  *record.mutable_made_at() = ToTimestamp(made_at);
  record.set_file(file);
  return WriteRecord(state_directory, record);
}

absl::Status RecordFailedBackup(const std::string& state_directory, const absl::Status& why,
                                absl::Time now) {
  v1::BackupRecord record = ReadBackupRecord(state_directory);
  *record.mutable_failed_at() = ToTimestamp(absl::FromUnixSeconds(absl::ToUnixSeconds(now)));
  record.set_error(PlainText(why.message(), Lines::kOne, kMaxError));
  return WriteRecord(state_directory, record);
}

}  // namespace muster::controller
