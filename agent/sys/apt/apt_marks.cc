#include "agent/sys/apt/apt_marks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// Each mark has a line, "hold munge".
constexpr absl::string_view kHoldWord = "hold ", kAutoWord = "auto ";

}  // namespace

AptMarksFile::AptMarksFile(sys::FileSystem& files, std::string folder)
    : files_(files), folder_(std::move(folder)), path_(absl::StrCat(folder_, "/marks")) {}

absl::StatusOr<AptMarks> AptMarksFile::Read() {
  AptMarks marks;
  const absl::StatusOr<std::string> text = files_.Read(path_);
  if (absl::IsNotFound(text.status())) return marks;
  RETURN_IF_ERROR(text.status());
  for (absl::string_view line : absl::StrSplit(*text, '\n'))
    if (absl::ConsumePrefix(&line, kHoldWord))
      marks.held.emplace_back(line);
    else if (absl::ConsumePrefix(&line, kAutoWord))
      marks.dependencies.emplace_back(line);
  return marks;
}

absl::Status AptMarksFile::Write(const AptMarks& marks) {
  RETURN_IF_ERROR(files_.MakeDirectory(folder_, 0700));
  std::string text;
  for (const std::string& name : marks.held) absl::StrAppend(&text, kHoldWord, name, "\n");
  for (const std::string& name : marks.dependencies) absl::StrAppend(&text, kAutoWord, name, "\n");
  return files_.WriteAtomically(path_, text, {.mode = 0600});
}

absl::Status AptMarksFile::Remove() { return files_.Remove(path_, /*recursive=*/false); }

}  // namespace muster::agent
