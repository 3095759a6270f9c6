#include "common/sys/archive/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

constexpr size_t kPieceBytes = 256 << 10;
// tar fills its last record, by default of 10 KiB, with zeros.
constexpr size_t kMaxPaddingBytes = size_t{1} << 20;

using WriteHandle = std::unique_ptr<struct archive, decltype(&archive_write_free)>;
using ReadHandle = std::unique_ptr<struct archive, decltype(&archive_read_free)>;
using EntryHandle = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

std::string Reason(struct archive* handle) {
  const char* reason = archive_error_string(handle);
  return reason == nullptr ? "damaged" : reason;
}

bool IsPlainPath(absl::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != absl::string_view::npos)
    return false;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

class Writer final : public ArchiveFileWriter {
 public:
  Writer(std::string path, Place place, UniqueFd fd)
      : path_(std::move(path)),
        place_(std::move(place)),
        fd_(std::move(fd)),
        handle_(archive_write_new(), &archive_write_free) {}
  ~Writer() override {
    if (!finished_) ::unlinkat(place_.folder.fd(), place_.name.c_str(), 0);
  }

  absl::Status Open() {
    if (archive_write_add_filter_gzip(handle_.get()) != ARCHIVE_OK ||
        archive_write_set_format_pax_restricted(handle_.get()) != ARCHIVE_OK ||
        archive_write_open_fd(handle_.get(), fd_.get()) != ARCHIVE_OK)
      return Failure("beginning");
    return absl::OkStatus();
  }

  absl::Status AddText(const std::string& name, absl::string_view text) override {
    RETURN_IF_ERROR(Begin(name, text.size()));
    return Put(text);
  }

  absl::Status AddFile(const std::string& name, const std::string& source) override {
    ASSIGN_OR_RETURN(const UniqueFd in, OpenFile(source, O_RDONLY, LastLink::kFollow, "reading"));
    struct stat info;
    if (fstat(in.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", source));
    RETURN_IF_ERROR(Begin(name, static_cast<uint64_t>(info.st_size)));
    std::string piece(kPieceBytes, '\0');
    uint64_t left = static_cast<uint64_t>(info.st_size);
    while (true) {
      const ssize_t count = read(in.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoStatus(errno, absl::StrCat("reading ", source));
      if (count == 0 || static_cast<uint64_t>(count) > left) break;
      left -= static_cast<uint64_t>(count);
      RETURN_IF_ERROR(Put(absl::string_view(piece.data(), static_cast<size_t>(count))));
    }
    if (left == 0) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat(source, " changed while it was read"));
  }

  absl::Status Finish() override {
    if (archive_write_close(handle_.get()) != ARCHIVE_OK) return Failure("ending");
    if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, absl::StrCat("writing ", path_));
    finished_ = true;
    return absl::OkStatus();
  }

 private:
  absl::Status Failure(absl::string_view what) {
    const int error = archive_errno(handle_.get());
    if (error > 0) return ErrnoStatus(error, absl::StrCat("writing ", path_));
    return absl::InternalError(
        absl::StrCat("writing ", path_, ": ", what, ": ", Reason(handle_.get())));
  }

  absl::Status Begin(const std::string& name, uint64_t size) {
    const EntryHandle entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(handle_.get(), entry.get()) == ARCHIVE_OK) return absl::OkStatus();
    return Failure(name);
  }

  absl::Status Put(absl::string_view data) {
    if (archive_write_data(handle_.get(), data.data(), data.size()) ==
        static_cast<la_ssize_t>(data.size()))
      return absl::OkStatus();
    return Failure("a piece");
  }

  const std::string path_;
  const Place place_;
  const UniqueFd fd_;
  const WriteHandle handle_;
  bool finished_ = false;
};

// What a .gz file holds. libarchive unpacks such files as well, but passes over the checksum at
// their end, by which damage is found that leaves the format intact.
class GzipInput {
 public:
  // Reads from the descriptor, and closes it.
  explicit GzipInput(UniqueFd fd) : file_(::gzdopen(fd.get(), "rb")), piece_(kPieceBytes, '\0') {
    if (file_ != nullptr) fd.Release();
  }
  ~GzipInput() {
    if (file_ != nullptr) ::gzclose(file_);
  }
  GzipInput(const GzipInput&) = delete;
  GzipInput& operator=(const GzipInput&) = delete;

  // An archive_read_callback; `self` is the input.
  static la_ssize_t Read(struct archive* handle, void* self, const void** data) {
    auto& input = *static_cast<GzipInput*>(self);
    *data = input.piece_.data();
    const absl::StatusOr<size_t> count = input.Next();
    if (count.ok()) return static_cast<la_ssize_t>(*count);
    archive_set_error(handle, EIO, "%s", std::string(count.status().message()).c_str());
    return -1;
  }

  // Reads what follows the archive's last entry: padding, and then the checksum.
  absl::Status Finish() {
    size_t padding = 0;
    while (true) {
      ASSIGN_OR_RETURN(const size_t count, Next());
      if (count == 0) return absl::OkStatus();
      padding += count;
      if (padding > kMaxPaddingBytes)
        return absl::InvalidArgumentError("something follows its last entry");
    }
  }

 private:
  absl::StatusOr<size_t> Next() {
    if (file_ == nullptr) return absl::ResourceExhaustedError("out of memory");
    const int count = ::gzread(file_, piece_.data(), static_cast<unsigned>(piece_.size()));
    if (count > 0) return static_cast<size_t>(count);
    int error = Z_OK;
    absl::string_view reason = ::gzerror(file_, &error);
    if (error == Z_OK || error == Z_STREAM_END) return size_t{0};
    // zlib puts "<fd:5>: " before it.
    if (const size_t end = reason.find(">: "); end != absl::string_view::npos)
      reason.remove_prefix(end + 3);
    return absl::InvalidArgumentError(reason);
  }

  const gzFile file_;
  std::string piece_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ArchiveFileWriter>> ArchiveFileWriter::Create(
    const std::string& path) {
  ASSIGN_OR_RETURN(Place place, Place::Reach(path, "creating"));
  UniqueFd fd = place.folder.CreateFile(place.name, ::geteuid(), ::getegid());
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("creating ", path));
  auto writer = std::make_unique<Writer>(path, std::move(place), std::move(fd));
  RETURN_IF_ERROR(writer->Open());
  return std::unique_ptr<ArchiveFileWriter>(std::move(writer));
}

absl::Status ReadArchiveFile(const std::string& path, const OnEntry& on_entry) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY, LastLink::kFollow, "reading"));
  GzipInput input(std::move(fd));
  const ReadHandle handle(archive_read_new(), &archive_read_free);
  const auto failure = [&] {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", Reason(handle.get())));
  };
  archive_read_support_format_tar(handle.get());
  if (archive_read_open(handle.get(), &input, nullptr, &GzipInput::Read, nullptr) != ARCHIVE_OK)
    return failure();
  std::string piece(kPieceBytes, '\0');
  while (true) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(handle.get(), &entry);
    if (result == ARCHIVE_EOF) return Annotate(input.Finish(), path);
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return failure();
    const char* raw = archive_entry_pathname(entry);
    const std::string name = raw == nullptr ? "" : raw;
    if (!IsPlainPath(name) || archive_entry_filetype(entry) != AE_IFREG ||
        archive_entry_hardlink(entry) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": entry '", absl::CHexEscape(name),
                                                     "' is not a file with a plain relative path"));
    }
    const auto size = static_cast<uint64_t>(archive_entry_size(entry));
    uint64_t left = size;
    RETURN_IF_ERROR(on_entry(name, size, [&]() -> absl::StatusOr<absl::string_view> {
      const la_ssize_t count = archive_read_data(handle.get(), piece.data(), piece.size());
      if (count < 0) return failure();
      left -= static_cast<uint64_t>(count);
      if (count == 0 && left != 0)
        return absl::InvalidArgumentError(absl::StrCat(path, ": entry ", name, " is cut off"));
      return absl::string_view(piece.data(), static_cast<size_t>(count));
    }));
  }
}

}  // namespace muster::sys
