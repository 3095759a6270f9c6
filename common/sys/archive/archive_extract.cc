#include "common/sys/archive/archive_extract.h"

#include <archive.h>
#include <archive_entry.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/archive/archive_entry_path.h"
#include "common/sys/file_error.h"

namespace muster::sys {
namespace {

using ReadHandle = std::unique_ptr<struct archive, decltype(&archive_read_free)>;
using WriteHandle = std::unique_ptr<struct archive, decltype(&archive_write_free)>;
using EntryHandle = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

constexpr size_t kReadBlock = 256 << 10;
// gzip reaches at most 1032:1; others reach more, but with no useful content.
constexpr uint64_t kMaxRatio = 1100;
constexpr uint64_t kRatioFrom = uint64_t{256} << 20;
// Links that leave the tree are never created, whatever our own checks think of them.
constexpr int kWriteFlags = ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                            ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                            ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;

// Extracts one archive to the disk. Runs in a thread whose working directory is the target:
// libarchive wants relative paths for its own checks.
class Extraction {
 public:
  Extraction(int archive, const Folder& directory, const ExtractOptions& options)
      : archive_(archive), directory_(directory), options_(options) {}

  absl::Status Run();
  std::vector<ExtractedEntry> TakeEntries() { return std::move(entries_); }

 private:
  absl::Status Open();
  absl::Status Take(archive_entry* entry);
  absl::Status TakeLink(archive_entry* entry, const std::string& path, bool& is_hardlink);
  absl::Status CheckKind(archive_entry* entry, const std::string& path, bool is_hardlink);
  absl::Status MakeParents(const std::string& path);
  absl::Status Write(archive_entry* entry, const std::string& path);
  absl::Status CopyData(const std::string& path);
  absl::Status Count(uint64_t bytes);
  absl::Status CheckLinks();
  absl::Status Finish();

  absl::Status Refuse(const std::string& path, absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat("archive entry '", absl::CHexEscape(path), "' ", why));
  }
  absl::Status ReadError(absl::string_view what) const {
    const char* reason = archive_error_string(reader_.get());
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", reason == nullptr ? "damaged" : reason));
  }
  absl::Status WriteError(const std::string& path) const {
    const int error = archive_errno(writer_.get());
    if (error == ENOSPC || error == EDQUOT || error == EROFS)
      return FileError(error, "unpacking", absl::StrCat(options_.place, "/", path));
    const char* reason = archive_error_string(writer_.get());
    return Refuse(path, absl::StrCat("cannot be unpacked: ", reason == nullptr ? "?" : reason));
  }

  const int archive_;
  const Folder& directory_;
  const ExtractOptions& options_;
  uint64_t archive_size_ = 0;
  ReadHandle reader_{nullptr, &archive_read_free};
  WriteHandle writer_{nullptr, &archive_write_free};

  std::vector<ExtractedEntry> entries_;
  std::map<std::string, FileType> seen_;
  LinkMap links_;
  uint64_t bytes_ = 0;
  uint64_t count_ = 0;
};

absl::Status Extraction::Open() {
  struct stat info = {};
  if (::fstat(archive_, &info) != 0 || ::lseek(archive_, 0, SEEK_SET) != 0)
    return FileError(errno, "reading the archive for", options_.place);
  archive_size_ = static_cast<uint64_t>(info.st_size);
  // A working directory for this thread alone; this also separates the umask, which libarchive
  // reads by setting it.
  if (::unshare(CLONE_FS) != 0 || ::fchdir(directory_.fd()) != 0)
    return FileError(errno, "unpacking into", options_.place);
  ::umask(022);

  reader_.reset(archive_read_new());
  // Only the formats that today's tools make; every further format is a further parser of hostile
  // bytes.
  archive_read_support_filter_gzip(reader_.get());
  archive_read_support_filter_bzip2(reader_.get());
  archive_read_support_filter_xz(reader_.get());
  archive_read_support_filter_lzma(reader_.get());
  archive_read_support_filter_zstd(reader_.get());
  archive_read_support_filter_lz4(reader_.get());
  archive_read_support_format_tar(reader_.get());
  archive_read_support_format_zip(reader_.get());
  if (archive_read_open_fd(reader_.get(), archive_, kReadBlock) != ARCHIVE_OK)
    return ReadError("opening the archive (tar or zip)");
  writer_.reset(archive_write_disk_new());
  archive_write_disk_set_options(writer_.get(), kWriteFlags);
  return absl::OkStatus();
}

// Before more bytes come: those so far are within the limits.
absl::Status Extraction::Count(uint64_t bytes) {
  if (options_.cancelled && options_.cancelled())
    return absl::CancelledError("unpacking was stopped");
  bytes_ += bytes;
  const la_int64_t read = archive_filter_bytes(reader_.get(), -1);
  if (options_.on_progress)
    options_.on_progress(read > 0 ? static_cast<uint64_t>(read) : 0, archive_size_);
  if (bytes_ > options_.max_bytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("the archive unpacks to more than ", options_.max_bytes,
                     " bytes; raise max_bytes if that is intended"));
  if (options_.check_ratio && bytes_ > kRatioFrom && bytes_ / kMaxRatio > archive_size_)
    return absl::ResourceExhaustedError(
        absl::StrCat("the archive of ", archive_size_, " bytes has grown to ", bytes_,
                     ", more than a genuine archive would; set max_bytes if that is intended"));
  return absl::OkStatus();
}

absl::Status Extraction::MakeParents(const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    const auto known = seen_.find(parent);
    if (known != seen_.end()) {
      if (known->second == FileType::kDirectory) continue;
      return Refuse(
          path, absl::StrCat("would be written through '", absl::CHexEscape(parent),
                             known->second == FileType::kSymlink ? "', which is a symbolic link"
                                                                 : "', which is not a directory"));
    }
    const EntryHandle entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_filetype(entry.get(), AE_IFDIR);
    archive_entry_set_perm(entry.get(), 0755);
    RETURN_IF_ERROR(Write(entry.get(), parent));
  }
  return absl::OkStatus();
}

absl::Status Extraction::TakeLink(archive_entry* entry, const std::string& path,
                                  bool& is_hardlink) {
  const char* raw = archive_entry_hardlink(entry);
  if (raw == nullptr) raw = archive_entry_hardlink_utf8(entry);
  is_hardlink = raw != nullptr;
  if (is_hardlink) {
    const auto target = EntryPath(raw, options_.strip_components);
    if (!target.ok())
      return Refuse(path, absl::StrCat("is a link whose target leaves the archive: ", raw));
    const auto known = seen_.find(*target);
    if (known == seen_.end() || known->second != FileType::kRegular)
      return Refuse(path, absl::StrCat("is a link to '", absl::CHexEscape(raw),
                                       "', which is not a file before it in the archive"));
    archive_entry_copy_hardlink(entry, target->c_str());
    return absl::OkStatus();
  }
  if (archive_entry_filetype(entry) != AE_IFLNK) return absl::OkStatus();
  raw = archive_entry_symlink(entry);
  if (raw == nullptr) raw = archive_entry_symlink_utf8(entry);
  if (raw == nullptr || *raw == '\0') return Refuse(path, "is a symbolic link to nowhere");
  links_[path] = raw;
  const std::string target = raw;
  archive_entry_copy_symlink(entry, target.c_str());
  return CheckLink(links_, path, options_.place);
}

absl::Status Extraction::CheckKind(archive_entry* entry, const std::string& path,
                                   bool is_hardlink) {
  const auto kind = archive_entry_filetype(entry);
  if (!is_hardlink && kind != AE_IFREG && kind != AE_IFDIR && kind != AE_IFLNK &&
      !options_.allow_special)
    return Refuse(path, "is a device, a pipe or a socket; allow_special: true accepts it");
  if ((archive_entry_perm(entry) & (S_ISUID | S_ISGID)) != 0 && !options_.allow_special)
    return Refuse(path, "has the set-uid or set-gid bit; allow_special: true accepts it");
  return absl::OkStatus();
}

absl::Status Extraction::Write(archive_entry* entry, const std::string& path) {
  if (++count_ > options_.max_entries)
    return absl::ResourceExhaustedError(
        absl::StrCat("the archive has more than ", options_.max_entries,
                     " entries; raise max_entries if that is intended"));
  archive_entry_copy_pathname(entry, path.c_str());
  archive_entry_set_uid(entry, options_.uid);
  archive_entry_set_gid(entry, options_.gid);
  archive_entry_copy_uname(entry, nullptr);
  archive_entry_copy_gname(entry, nullptr);
  const auto kind = archive_entry_filetype(entry);
  ExtractedEntry made;
  made.path = path;
  made.type = archive_entry_hardlink(entry) != nullptr || kind == AE_IFREG ? FileType::kRegular
              : kind == AE_IFDIR                                           ? FileType::kDirectory
              : kind == AE_IFLNK                                           ? FileType::kSymlink
                                                                           : FileType::kOther;
  if (archive_write_header(writer_.get(), entry) < ARCHIVE_WARN) return WriteError(path);
  seen_[path] = made.type;
  entries_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status Extraction::CopyData(const std::string& path) {
  la_int64_t end = 0;
  while (true) {
    const void* block = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(reader_.get(), &block, &size, &offset);
    if (result == ARCHIVE_EOF) break;
    if (result < ARCHIVE_WARN) return ReadError(absl::StrCat("reading ", absl::CHexEscape(path)));
    // Holes count: somebody may read them one day.
    if (offset < end) return Refuse(path, "has its parts out of order");
    RETURN_IF_ERROR(Count(static_cast<uint64_t>(offset - end) + size));
    end = offset + static_cast<la_int64_t>(size);
    if (archive_write_data_block(writer_.get(), block, size, offset) < ARCHIVE_WARN)
      return WriteError(path);
  }
  if (archive_write_finish_entry(writer_.get()) < ARCHIVE_WARN) return WriteError(path);
  return absl::OkStatus();
}

absl::Status Extraction::Take(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  if (raw == nullptr) raw = archive_entry_pathname_utf8(entry);
  ASSIGN_OR_RETURN(const std::string path,
                   EntryPath(raw == nullptr ? "" : raw, options_.strip_components));
  if (path.empty()) return absl::OkStatus();
  bool is_hardlink = false;
  RETURN_IF_ERROR(TakeLink(entry, path, is_hardlink));
  RETURN_IF_ERROR(CheckKind(entry, path, is_hardlink));
  RETURN_IF_ERROR(MakeParents(path));
  const auto known = seen_.find(path);
  if (known != seen_.end()) {
    const bool both_directories = known->second == FileType::kDirectory && !is_hardlink &&
                                  archive_entry_filetype(entry) == AE_IFDIR;
    if (!both_directories) return Refuse(path, "appears twice");
    return absl::OkStatus();
  }
  // A file that declares its size is refused before it fills the disk.
  const la_int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
  if (size > 0 && static_cast<uint64_t>(size) > options_.max_bytes - bytes_)
    RETURN_IF_ERROR(Count(static_cast<uint64_t>(size)));
  RETURN_IF_ERROR(Write(entry, path));
  if (is_hardlink || archive_entry_filetype(entry) != AE_IFREG) return absl::OkStatus();
  return CopyData(path);
}

absl::Status Extraction::CheckLinks() {
  // Once more, now that all links are known: a later link can make an earlier one lead out.
  for (const auto& [path, target] : links_) {
    RETURN_IF_ERROR(CheckLink(links_, path, options_.place));
  }
  return absl::OkStatus();
}

absl::Status Extraction::Finish() {
  // Sets the times and modes of directories.
  if (archive_write_close(writer_.get()) < ARCHIVE_WARN) return WriteError(".");
  for (ExtractedEntry& entry : entries_) {
    struct stat info = {};
    if (::lstat(entry.path.c_str(), &info) != 0)
      return FileError(errno, "reading", absl::StrCat(options_.place, "/", entry.path));
    entry.mode = info.st_mode & 07777;
    if (entry.type == FileType::kSymlink) entry.link_target = links_[entry.path];
    if (entry.type != FileType::kRegular) continue;
    entry.size = static_cast<uint64_t>(info.st_size);
    entry.modified_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
  }
  return absl::OkStatus();
}

absl::Status Extraction::Run() {
  RETURN_IF_ERROR(Open());
  while (true) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader_.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    // A warning is about a name that this locale cannot show; its bytes are good.
    if (result < ARCHIVE_WARN) return ReadError("reading the archive");
    RETURN_IF_ERROR(Count(0));
    RETURN_IF_ERROR(Take(entry));
  }
  RETURN_IF_ERROR(CheckLinks());
  return Finish();
}

}  // namespace

absl::StatusOr<std::vector<ExtractedEntry>> ExtractArchive(int archive, const Folder& directory,
                                                           const ExtractOptions& options) {
  Extraction extraction(archive, directory, options);
  absl::Status status;
  std::thread([&] { status = extraction.Run(); }).join();
  RETURN_IF_ERROR(status);
  return extraction.TakeEntries();
}

}  // namespace muster::sys
