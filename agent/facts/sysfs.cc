#include "agent/facts/sysfs.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  constexpr size_t kLargest = 4 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  // Kernel files report no usable size.
  std::string text;
  char chunk[4096];
  while (text.size() < kLargest && (file.read(chunk, sizeof chunk), file.gcount() > 0))
    text.append(chunk, static_cast<size_t>(file.gcount()));
  if (file.bad()) return absl::DataLossError(absl::StrCat("reading ", path));
  return text;
}

std::optional<std::string> ReadValue(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(*text));
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> value = ReadValue(path);
  if (!value) return std::nullopt;
  int64_t number = 0;
  const bool read = absl::StartsWith(*value, "0x") ? absl::SimpleHexAtoi(*value, &number)
                                                   : absl::SimpleAtoi(*value, &number);
  return read ? std::optional<int64_t>(number) : std::nullopt;
}

std::vector<std::string> ListNames(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string LinkName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

}  // namespace muster::agent
