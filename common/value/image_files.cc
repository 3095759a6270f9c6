#include "common/value/image_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"

namespace muster {
namespace {

constexpr absl::string_view kTypes = "fdlcbps";
constexpr size_t kMaxPathBytes = 4096;  // PATH_MAX
constexpr uint32_t kMaxMode = 07777;
constexpr char kDigestRule[] = "a file has a SHA-256 in lower-case hex, and nothing else has one";

// A character and the letter that stands for it after a backslash.
struct Escape {
  char character;
  char letter;
  bool in_targets_alone;
};
constexpr Escape kEscapes[] = {{'\\', '\\', false}, {'\n', 'n', false}, {' ', 's', true}};

void AppendEscaped(absl::string_view text, bool is_target, std::string& out) {
  for (const char c : text) {
    const auto escape =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const Escape& each) {
          return each.character == c && (is_target || !each.in_targets_alone);
        });
    if (escape == std::end(kEscapes)) {
      out += c;
    } else {
      out += '\\';
      out += escape->letter;
    }
  }
}

// False: a backslash with a letter that stands for nothing.
bool Unescape(absl::string_view text, bool is_target, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    const auto escape =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const Escape& each) {
          return each.letter == text[i] && (is_target || !each.in_targets_alone);
        });
    if (escape == std::end(kEscapes)) return false;
    out += escape->character;
  }
  return true;
}

// "/" and paths below it, without empty, "." and ".." parts.
bool IsPath(absl::string_view path) {
  if (path.empty() || path[0] != '/' || path.size() > kMaxPathBytes) return false;
  if (path.find('\0') != absl::string_view::npos) return false;
  if (path.size() == 1) return true;
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

// "" where the file may stand in a list; otherwise what is wrong with it.
std::string FaultOf(const ImageFile& file) {
  if (kTypes.find(file.type) == absl::string_view::npos || file.type == '\0')
    return "the type is not one of f, d, l, c, b, p and s";
  if (file.mode > kMaxMode) return "the mode is above 7777";
  if (!IsPath(file.path))
    return "the path must begin with '/' and have no empty, '.' and '..' parts";
  if (file.type == 'f' ? !IsSha256(file.sha256) : !file.sha256.empty()) return kDigestRule;
  const bool is_target = !file.target.empty() && file.target.size() <= kMaxPathBytes &&
                         file.target.find('\0') == std::string::npos;
  if (file.type == 'l' ? !is_target : !file.target.empty())
    return "a link has a target, and nothing else has one";
  return "";
}

// Takes the word up to the next blank; false: there is no blank.
bool TakeWord(absl::string_view& rest, absl::string_view& word) {
  const size_t blank = rest.find(' ');
  if (blank == absl::string_view::npos) return false;
  word = rest.substr(0, blank);
  rest.remove_prefix(blank + 1);
  return true;
}

template <typename Number>
bool ReadNumber(absl::string_view text, int base, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  // One number has one way to be written: equal lists are equal texts.
  return error == std::errc() && end == text.data() + text.size() &&
         (text.size() == 1 || text[0] != '0');
}

// "" or what is wrong with the line.
std::string ReadLine(absl::string_view line, ImageFile& file) {
  std::array<absl::string_view, 6> words;
  for (absl::string_view& word : words)
    if (!TakeWord(line, word)) return "it has less than seven columns";
  file = {};
  if (words[0].size() != 1) return "the type is not one letter";
  file.type = words[0][0];
  if (!ReadNumber(words[1], 8, file.mode)) return "the mode is not an octal number";
  if (!ReadNumber(words[2], 10, file.uid)) return "the owner is not a number";
  if (!ReadNumber(words[3], 10, file.gid)) return "the group is not a number";
  if (!ReadNumber(words[4], 10, file.size)) return "the size is not a number";
  if (file.type == 'l') {
    if (!Unescape(words[5], /*is_target=*/true, file.target))
      return "the target has a backslash that stands for nothing";
  } else if (file.type == 'f') {
    file.sha256 = std::string(words[5]);
  } else if (words[5] != "-") {
    return kDigestRule;
  }
  if (!Unescape(line, /*is_target=*/false, file.path))
    return "the path has a backslash that stands for nothing";
  return FaultOf(file);
}

}  // namespace

absl::StatusOr<std::string> WriteImageFiles(std::vector<ImageFile> files) {
  std::sort(files.begin(), files.end(),
            [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
  std::string text;
  const std::string* last = nullptr;
  for (const ImageFile& file : files) {
    std::string fault = FaultOf(file);
    if (fault.empty() && last != nullptr && *last == file.path) fault = "the path occurs twice";
    if (!fault.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("the list of files: ", PlainText(file.path, Lines::kOne, 256), ": ", fault));
    absl::StrAppendFormat(&text, "%c %o %d %d %d ", file.type, file.mode, file.uid, file.gid,
                          file.size);
    if (file.type == 'f') {
      text += file.sha256;
    } else if (file.type == 'l') {
      AppendEscaped(file.target, /*is_target=*/true, text);
    } else {
      text += '-';
    }
    text += ' ';
    AppendEscaped(file.path, /*is_target=*/false, text);
    text += '\n';
    last = &file.path;
  }
  if (files.size() <= kMaxImageFiles && text.size() <= kMaxImageFilesBytes) return text;
  return absl::ResourceExhaustedError(absl::StrCat("the list of files has ", files.size(),
                                                   " lines and ", text.size(), " bytes, at most ",
                                                   kMaxImageFiles, " and ", kMaxImageFilesBytes));
}

absl::StatusOr<bool> ImageFilesReader::Next(ImageFile& file) {
  if (rest_.empty()) return false;
  if (++line_ > kMaxImageFiles)
    return absl::ResourceExhaustedError(
        absl::StrCat("the list of files has more than ", kMaxImageFiles, " lines"));
  const size_t end = rest_.find('\n');
  std::string fault =
      end == absl::string_view::npos ? "the line has no end" : ReadLine(rest_.substr(0, end), file);
  if (fault.empty() && line_ > 1 && file.path <= last_path_)
    fault = "the path is not after that of the line before";
  if (!fault.empty())
    return absl::InvalidArgumentError(absl::StrCat("the list of files, line ", line_, ": ", fault));
  rest_.remove_prefix(end + 1);
  last_path_ = file.path;
  return true;
}

}  // namespace muster
