// The list of an image's files, which its artifact "files" holds as compressed text. Pure.
//
// A line per file, sorted by the bytes of the path:
//
//   <type> <mode> <uid> <gid> <size> <digest> <path>
//   f 755 0 0 1265648 5f0a…9c /usr/bin/bash
//   l 777 0 0 4 bash /usr/bin/sh
//   d 755 0 0 0 - /usr
//
// <type> is a letter as find(1) prints it: f, d, l, c, b, p or s. <mode> is octal. <digest> is the
// SHA-256 of a file, the target of a link, and "-" for everything else. The path begins at the root
// of the image and may have blanks. A newline is written as \n, a backslash as \\, and in the
// target of a link a blank as \s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// What the text may have, so that a list of somebody else's takes no more than this.
inline constexpr size_t kMaxImageFiles = 4'000'000;
inline constexpr size_t kMaxImageFilesBytes = size_t{512} << 20;

struct ImageFile {
  char type = 'f';
  uint32_t mode = 0;  // permission bits: 07777
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size = 0;   // of a file; of others what the builder says, 0 at best
  std::string sha256;  // of a file, in lower-case hex
  std::string target;  // of a link
  std::string path;    // "/usr/bin/bash"

  bool operator==(const ImageFile&) const = default;
};

// The text of these files, which may come in any order. InvalidArgument names one that cannot be
// written: a path that does not begin at the root, a type that does not exist, two of one path.
absl::StatusOr<std::string> WriteImageFiles(std::vector<ImageFile> files);

// Reads file after file of `text`, which must outlive the reader.
class ImageFilesReader {
 public:
  explicit ImageFilesReader(absl::string_view text) : rest_(text) {}

  // False: there was none left. InvalidArgument names the line and what is wrong with it.
  // ResourceExhausted: there are more than kMaxImageFiles.
  absl::StatusOr<bool> Next(ImageFile& file);

 private:
  absl::string_view rest_;
  size_t line_ = 0;
  std::string last_path_;
};

}  // namespace muster
