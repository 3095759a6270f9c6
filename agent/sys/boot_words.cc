#include "agent/sys/boot_words.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxWordBytes = 4096;
constexpr char kCommandLine[] = "/proc/cmdline";
constexpr char kSlotWord[] = "muster.slot";

absl::StatusOr<std::optional<std::string>> ReadTold(sys::FileSystem& files, const std::string& root,
                                                    absl::string_view name) {
  absl::StatusOr<std::string> told =
      files.Read(absl::StrCat(root, kBootWordsFolder, "/", name), kMaxWordBytes);
  if (absl::IsNotFound(told.status())) return std::nullopt;
  RETURN_IF_ERROR(told.status());
  absl::StripAsciiWhitespace(&*told);
  return *std::move(told);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadBootWord(sys::FileSystem& files,
                                                        absl::string_view name) {
  ASSIGN_OR_RETURN(const std::string line, files.Read(kCommandLine));
  const std::map<std::string, std::string> words = ParseKernelArguments(line);
  const auto found = words.find(std::string(name));
  if (found != words.end()) return found->second;
  return ReadTold(files, "", name);
}

absl::StatusOr<std::string> ReadBootArguments(sys::FileSystem& files, const std::string& root) {
  ASSIGN_OR_RETURN(std::string line, files.Read(root + kCommandLine));
  absl::StripAsciiWhitespace(&line);
  ASSIGN_OR_RETURN(const std::optional<std::string> slot, ReadTold(files, root, kSlotWord));
  if (slot.has_value()) absl::StrAppend(&line, " ", kSlotWord, "=", *slot);
  return line;
}

}  // namespace muster::agent
