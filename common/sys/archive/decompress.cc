#include "common/sys/archive/decompress.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::sys {
namespace {

constexpr size_t kUnpackedPieceBytes = 256 << 10;

la_ssize_t AppendPacked(struct archive*, void* target, const void* data, size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

}  // namespace

absl::StatusOr<std::string> Decompress(absl::string_view data, size_t max_bytes) {
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> handle(archive_read_new(),
                                                                             &archive_read_free);
  const auto damaged = [&] {
    const char* const reason = archive_error_string(handle.get());
    return absl::InvalidArgumentError(
        absl::StrCat("not a whole .gz or .xz file: ", reason == nullptr ? "damaged" : reason));
  };
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_filter_xz(handle.get());
  archive_read_support_format_raw(handle.get());
  archive_read_support_format_empty(handle.get());
  if (archive_read_open_memory(handle.get(), data.data(), data.size()) != ARCHIVE_OK)
    return damaged();
  // The filters that apply, besides the one that stands for the bytes as they come.
  if (archive_filter_count(handle.get()) < 2)
    return absl::InvalidArgumentError("not a .gz or .xz file");
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(handle.get(), &entry);
  if (result == ARCHIVE_EOF) return std::string();
  if (result != ARCHIVE_OK) return damaged();
  std::string content;
  std::string piece(kUnpackedPieceBytes, '\0');
  while (true) {
    const la_ssize_t count = archive_read_data(handle.get(), piece.data(), piece.size());
    if (count < 0) return damaged();
    if (count == 0) return content;
    if (static_cast<size_t>(count) > max_bytes - content.size())
      return absl::ResourceExhaustedError(
          absl::StrCat("it has more than ", max_bytes, " bytes when it is unpacked"));
    content.append(piece, 0, static_cast<size_t>(count));
  }
}

absl::StatusOr<std::string> CompressGz(absl::string_view data) {
  std::string packed;
  const std::unique_ptr<struct archive, decltype(&archive_write_free)> handle(archive_write_new(),
                                                                              &archive_write_free);
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            &archive_entry_free);
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_pathname(entry.get(), "data");
  if (archive_write_add_filter_gzip(handle.get()) != ARCHIVE_OK ||
      archive_write_set_filter_option(handle.get(), "gzip", "timestamp", nullptr) != ARCHIVE_OK ||
      archive_write_set_format_raw(handle.get()) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(handle.get(), 1) != ARCHIVE_OK ||  // no padding
      archive_write_open(handle.get(), &packed, nullptr, &AppendPacked, nullptr) != ARCHIVE_OK ||
      archive_write_header(handle.get(), entry.get()) != ARCHIVE_OK ||
      archive_write_data(handle.get(), data.data(), data.size()) !=
          static_cast<la_ssize_t>(data.size()) ||
      archive_write_close(handle.get()) != ARCHIVE_OK) {
    const char* const reason = archive_error_string(handle.get());
    return absl::InternalError(
        absl::StrCat("compressing: ", reason == nullptr ? "out of memory" : reason));
  }
  return packed;
}

}  // namespace muster::sys
