#include "common/base/text/image_name.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr absl::string_view kAlgorithm = "sha256:";
constexpr size_t kDigestLength = 64;
constexpr size_t kMaxTagLength = 128;

absl::Status Refuse(absl::string_view image, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", absl::CHexEscape(image), "' ", why));
}

template <typename IsPart>
bool ConsistsOf(absl::string_view text, IsPart is_part) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_part(static_cast<unsigned char>(c));
  });
}

bool IsLowerAlnum(unsigned char c) { return absl::ascii_isdigit(c) || absl::ascii_islower(c); }

// Like a host name, perhaps with a port: what programs would otherwise take for a part of the name
// and look up at a registry of their own choice.
bool IsRegistry(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool has_port = absl::StrContains(text, ':');
  return absl::ascii_isalnum(static_cast<unsigned char>(parts.first.empty() ? '-' : text[0])) &&
         ConsistsOf(
             parts.first,
             [](unsigned char c) { return absl::ascii_isalnum(c) || c == '.' || c == '-'; }) &&
         (!has_port || ConsistsOf(parts.second, absl::ascii_isdigit)) &&
         (has_port || absl::StrContains(text, '.') || text == "localhost");
}

bool IsRepository(absl::string_view text) {
  for (const absl::string_view part : absl::StrSplit(text, '/')) {
    if (part.empty() || !IsLowerAlnum(static_cast<unsigned char>(part.front())) ||
        !ConsistsOf(part, [](unsigned char c) {
          return IsLowerAlnum(c) || c == '.' || c == '_' || c == '-';
        })) {
      return false;
    }
  }
  return true;
}

// Checks the part before the digest or tag.
absl::Status CheckName(absl::string_view image, absl::string_view name) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(name, absl::MaxSplits('/', 1));
  if (!IsRegistry(parts.first))
    return Refuse(image, "does not begin with a registry, such as registry.example/name");
  if (!IsRepository(parts.second))
    return Refuse(image,
                  "has no valid name after its registry (lower-case letters, digits, '.', "
                  "'_', '-' and '/')");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPinnedImage(absl::string_view image) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(image, absl::MaxSplits('@', 1));
  absl::string_view digest = parts.second;
  if (!absl::ConsumePrefix(&digest, kAlgorithm) || digest.size() != kDigestLength ||
      !ConsistsOf(digest, [](unsigned char c) {
        return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
      })) {
    return Refuse(image,
                  "is not pinned: name it as registry/name@sha256:<64 hex digits>, because a "
                  "tag can mean another image tomorrow");
  }
  return CheckName(image, parts.first);
}

absl::Status CheckTaggedImage(absl::string_view image) {
  const size_t colon = image.rfind(':');
  const absl::string_view tag = colon == absl::string_view::npos ? "" : image.substr(colon + 1);
  if (tag.size() > kMaxTagLength || !ConsistsOf(tag, [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
      })) {
    return Refuse(image, "has no tag: name it as the archive does, registry/name:tag");
  }
  return CheckName(image, image.substr(0, colon));
}

absl::string_view RegistryOf(absl::string_view image) { return image.substr(0, image.find('/')); }

}  // namespace muster
