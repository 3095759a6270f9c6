#include "common/sys/archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace muster::sys {
namespace {

using WriteHandle = std::unique_ptr<struct archive, decltype(&archive_write_free)>;
using ReadHandle = std::unique_ptr<struct archive, decltype(&archive_read_free)>;
using EntryHandle = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

constexpr size_t kBlock = 64 << 10;

absl::Status Failure(struct archive* handle, absl::string_view what) {
  const char* reason = archive_error_string(handle);
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", reason == nullptr ? "damaged" : reason));
}

absl::Status CheckPath(absl::string_view path) {
  const auto refuse = [path](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("archive entry '", absl::CHexEscape(path), "' ", why));
  };
  if (path.empty()) return refuse("has no name");
  if (path.front() == '/') return refuse("has an absolute path");
  if (path.find('\0') != absl::string_view::npos) return refuse("has a NUL in its name");
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") return refuse("climbs out of the archive with '..'");
    if (part.empty() || part == ".") return refuse("has an empty part in its path");
  }
  return absl::OkStatus();
}

// "./a/b" and "a/b" are the same file to every tar.
absl::string_view WithoutDot(absl::string_view path) {
  while (path.size() >= 2 && path.substr(0, 2) == "./") path.remove_prefix(2);
  return path;
}

la_ssize_t AppendTo(struct archive*, void* target, const void* data, size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

absl::Status WriteEntry(struct archive* handle, const std::string& path,
                        const std::string& content) {
  const EntryHandle entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(handle, entry.get()) != ARCHIVE_OK) return Failure(handle, path);
  if (archive_write_data(handle, content.data(), content.size()) !=
      static_cast<la_ssize_t>(content.size()))
    return Failure(handle, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PackTarGz(const std::map<std::string, std::string>& files) {
  std::string bytes;
  const WriteHandle handle(archive_write_new(), &archive_write_free);
  // No time stamp in the gzip header either: equal trees must have equal digests.
  if (archive_write_add_filter_gzip(handle.get()) != ARCHIVE_OK ||
      archive_write_set_filter_option(handle.get(), "gzip", "timestamp", nullptr) != ARCHIVE_OK ||
      archive_write_set_format_pax_restricted(handle.get()) != ARCHIVE_OK ||
      archive_write_set_format_option(handle.get(), "pax", "hdrcharset", "BINARY") != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(handle.get(), 1) != ARCHIVE_OK ||  // no padding
      archive_write_open(handle.get(), &bytes, nullptr, &AppendTo, nullptr) != ARCHIVE_OK)
    return Failure(handle.get(), "packing");
  for (const auto& [path, content] : files) {
    RETURN_IF_ERROR(CheckPath(path));
    RETURN_IF_ERROR(WriteEntry(handle.get(), path, content));
  }
  if (archive_write_close(handle.get()) != ARCHIVE_OK) return Failure(handle.get(), "packing");
  return bytes;
}

absl::StatusOr<std::map<std::string, std::string>> UnpackTarGz(absl::string_view archive_bytes,
                                                               const ArchiveLimits& limits) {
  const ReadHandle handle(archive_read_new(), &archive_read_free);
  // Only the formats that PackTarGz makes: every further format is a further parser of hostile
  // bytes.
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_format_tar(handle.get());
  if (archive_read_open_memory(handle.get(), archive_bytes.data(), archive_bytes.size()) !=
      ARCHIVE_OK)
    return Failure(handle.get(), "opening the archive");
  std::map<std::string, std::string> files;
  size_t total = 0, entries = 0;
  std::string block(kBlock, '\0');
  while (true) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(handle.get(), &entry);
    if (result == ARCHIVE_EOF) return files;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
      return Failure(handle.get(), "reading the archive");
    if (++entries > limits.max_files)
      return absl::ResourceExhaustedError(
          absl::StrCat("the archive has more than ", limits.max_files, " entries"));
    const char* raw = archive_entry_pathname(entry);
    const std::string path(WithoutDot(raw == nullptr ? "" : raw));
    const bool link = archive_entry_hardlink(entry) != nullptr;
    if (archive_entry_filetype(entry) == AE_IFDIR && !link) continue;
    RETURN_IF_ERROR(CheckPath(path));
    if (archive_entry_filetype(entry) != AE_IFREG || link)
      return absl::InvalidArgumentError(
          absl::StrCat("archive entry '", absl::CHexEscape(path),
                       "' is a link or a device; only files are accepted"));
    const auto [file, added] = files.try_emplace(path);
    if (!added)
      return absl::InvalidArgumentError(
          absl::StrCat("archive entry '", absl::CHexEscape(path), "' appears twice"));
    while (true) {
      const la_ssize_t count = archive_read_data(handle.get(), block.data(), block.size());
      if (count < 0) return Failure(handle.get(), absl::StrCat("reading ", path));
      if (count == 0) break;
      total += static_cast<size_t>(count);
      if (total > limits.max_total_bytes)
        return absl::ResourceExhaustedError(
            absl::StrCat("the archive unpacks to more than ", limits.max_total_bytes, " bytes"));
      file->second.append(block.data(), static_cast<size_t>(count));
    }
    if (static_cast<la_int64_t>(file->second.size()) != archive_entry_size(entry))
      return absl::InvalidArgumentError(absl::StrCat("reading ", path, ": the archive is cut off"));
  }
}

}  // namespace muster::sys
