#include "agent/boot_words.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxWordBytes = 4096;

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadBootWord(sys::FileSystem& files,
                                                        absl::string_view name) {
  ASSIGN_OR_RETURN(const std::string line, files.Read("/proc/cmdline"));
  const std::map<std::string, std::string> words = ParseKernelArguments(line);
  const auto found = words.find(std::string(name));
  if (found != words.end()) return found->second;
  absl::StatusOr<std::string> told =
      files.Read(absl::StrCat(kBootWordsFolder, "/", name), kMaxWordBytes);
  if (absl::IsNotFound(told.status())) return std::nullopt;
  RETURN_IF_ERROR(told.status());
  absl::StripAsciiWhitespace(&*told);
  return *std::move(told);
}

}  // namespace muster::agent
