// Archives that no sane tool makes.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <string>
#include <vector>

namespace muster::testing {

struct RawEntry {
  std::string path;
  mode_t type = AE_IFREG;
  std::string content = "x";
  std::string hardlink = {};
  std::string symlink = {};
  mode_t mode = 0644;
};

inline std::string MakeRawArchive(const std::vector<RawEntry>& entries, bool zip = false) {
  std::string bytes(8 << 20, '\0');
  size_t used = 0;
  struct archive* handle = archive_write_new();
  if (zip) {
    archive_write_set_format_zip(handle);
  } else {
    archive_write_add_filter_gzip(handle);
    archive_write_set_format_pax_restricted(handle);
  }
  archive_write_open_memory(handle, bytes.data(), bytes.size(), &used);
  for (const RawEntry& raw : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, raw.path.c_str());
    archive_entry_set_filetype(entry, raw.type);
    archive_entry_set_perm(entry, raw.mode);
    archive_entry_set_mtime(entry, 1'600'000'000, 0);
    if (!raw.hardlink.empty()) archive_entry_set_hardlink(entry, raw.hardlink.c_str());
    if (!raw.symlink.empty()) archive_entry_set_symlink(entry, raw.symlink.c_str());
    const bool has_data = raw.type == AE_IFREG && raw.hardlink.empty();
    archive_entry_set_size(entry, has_data ? static_cast<la_int64_t>(raw.content.size()) : 0);
    archive_write_header(handle, entry);
    if (has_data) archive_write_data(handle, raw.content.data(), raw.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(handle);
  archive_write_free(handle);
  bytes.resize(used);
  return bytes;
}

inline RawEntry Symlink(std::string path, std::string target) {
  return {.path = std::move(path), .type = AE_IFLNK, .symlink = std::move(target)};
}
inline RawEntry Hardlink(std::string path, std::string target) {
  return {.path = std::move(path), .hardlink = std::move(target)};
}
inline RawEntry Directory(std::string path, mode_t mode = 0755) {
  return {.path = std::move(path), .type = AE_IFDIR, .mode = mode};
}

}  // namespace muster::testing
