#include "cli/image/kernel_image.h"

#include <algorithm>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr uint64_t kPage = 4096;
// Offsets of the PE format.
constexpr size_t kPeOffsetAt = 60;
constexpr size_t kSectionCountAt = 6, kOptionalSizeAt = 20, kOptionalAt = 24;
constexpr size_t kImageBaseAt = 24, kAlignmentAt = 32;  // in the optional header
constexpr size_t kSignaturesAt = 144;                   // in the optional header, a file's place
constexpr size_t kSectionBytes = 40, kVirtualSizeAt = 8, kVirtualAddressAt = 12;
constexpr size_t kNameBytes = 8, kFileSizeAt = 16, kFilePlaceAt = 20;
constexpr uint64_t kPe32Plus = 0x20b;
// The DigestInfo of SHA-256 (RFC 8017, 9.2), which ends in the digest.
constexpr absl::string_view kDigestInfo(
    "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20", 19);
constexpr size_t kDigestBytes = 32, kDigestDigits = 64;
constexpr char kCommandLineSection[] = ".cmdline";
constexpr absl::string_view kRootWord = "muster.sha256=";
constexpr unsigned kFileMode = 0100600, kFolderMode = 040755;

// Empty where it would reach beyond the end.
absl::string_view Part(absl::string_view content, size_t at, size_t bytes) {
  if (at > content.size() || bytes > content.size() - at) return {};
  return content.substr(at, bytes);
}

// 0 beyond the end, which no header has where it matters.
uint64_t ReadNumber(absl::string_view content, size_t at, size_t bytes) {
  const absl::string_view part = Part(content, at, bytes);
  uint64_t number = 0;
  for (size_t i = part.size(); i > 0; --i)
    number = number << 8 | static_cast<unsigned char>(part[i - 1]);
  return number;
}

// Where the parts of a PE32+ program begin.
struct Headers {
  size_t optional = 0;
  size_t sections = 0;  // the first
  size_t section_count = 0;
};
absl::StatusOr<Headers> ReadHeaders(absl::string_view content) {
  const size_t header = ReadNumber(content, kPeOffsetAt, 4);
  const size_t optional = header + kOptionalAt;
  if (content.substr(0, 2) != "MZ" || ReadNumber(content, header, 4) != 0x4550 ||
      ReadNumber(content, optional, 2) != kPe32Plus)
    return absl::InvalidArgumentError("it is no EFI program of a 64-bit machine");
  return Headers{optional, optional + ReadNumber(content, header + kOptionalSizeAt, 2),
                 ReadNumber(content, header + kSectionCountAt, 2)};
}

// The root that a command line names; "": none.
std::string RootOf(absl::string_view command_line) {
  for (absl::string_view word : absl::StrSplit(command_line, ' ')) {
    if (absl::ConsumePrefix(&word, kRootWord) && IsSha256(word.substr(0, kDigestDigits)))
      return std::string(word.substr(0, kDigestDigits));
  }
  return "";
}

uint64_t RoundUp(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

void Pad(std::string& text) { text.resize(RoundUp(text.size(), 4), '\0'); }

// One member of a cpio archive in the format newc.
void AddMember(std::string& archive, unsigned inode, const std::string& path, unsigned mode,
               absl::string_view content) {
  const unsigned links = mode == kFolderMode ? 2 : 1;
  absl::StrAppend(&archive, "070701");
  for (const uint64_t field :
       {uint64_t{inode}, uint64_t{mode}, uint64_t{0}, uint64_t{0}, uint64_t{links}, uint64_t{0},
        uint64_t{content.size()}, uint64_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{0},
        uint64_t{path.size() + 1}, uint64_t{0}})
    absl::StrAppend(&archive, absl::StrFormat("%08x", field));
  archive.append(path.c_str(), path.size() + 1);
  Pad(archive);
  absl::StrAppend(&archive, content);
  Pad(archive);
}

}  // namespace

absl::StatusOr<StubShape> ReadStub(absl::string_view content) {
  ASSIGN_OR_RETURN(const Headers headers, ReadHeaders(content));
  StubShape shape;
  shape.image_base = ReadNumber(content, headers.optional + kImageBaseAt, 8);
  shape.alignment = std::max(kPage, ReadNumber(content, headers.optional + kAlignmentAt, 4));
  for (size_t i = 0; i < headers.section_count; ++i) {
    const size_t at = headers.sections + i * kSectionBytes;
    shape.end = std::max(shape.end, ReadNumber(content, at + kVirtualSizeAt, 4) +
                                        ReadNumber(content, at + kVirtualAddressAt, 4));
  }
  if (shape.end == 0) return absl::InvalidArgumentError("it is an EFI program without sections");
  return shape;
}

absl::StatusOr<SignedProgram> ReadSignedProgram(absl::string_view content) {
  ASSIGN_OR_RETURN(const Headers headers, ReadHeaders(content));
  const size_t place = headers.optional + kSignaturesAt;
  const absl::string_view signatures =
      Part(content, ReadNumber(content, place, 4), ReadNumber(content, place + 4, 4));
  const size_t info = signatures.find(kDigestInfo);
  const absl::string_view digest = info == absl::string_view::npos
                                       ? absl::string_view()
                                       : Part(signatures, info + kDigestInfo.size(), kDigestBytes);
  if (digest.empty()) return absl::InvalidArgumentError("it is an EFI program without a signature");
  SignedProgram program;
  program.digest = absl::BytesToHexString(digest);
  for (size_t i = 0; i < headers.section_count; ++i) {
    const size_t at = headers.sections + i * kSectionBytes;
    if (Part(content, at, kNameBytes) != kCommandLineSection) continue;
    program.root = RootOf(Part(content, ReadNumber(content, at + kFilePlaceAt, 4),
                               ReadNumber(content, at + kFileSizeAt, 4)));
  }
  return program;
}

std::vector<std::string> JoinKernelImage(const std::string& stub, const StubShape& shape,
                                         const std::vector<KernelImageSection>& sections,
                                         const std::string& target) {
  std::vector<std::string> argv = {"objcopy"};
  uint64_t end = shape.end;
  for (const KernelImageSection& section : sections) {
    end = RoundUp(end, shape.alignment);
    argv.insert(argv.end(), {"--add-section", absl::StrCat(section.name, "=", section.path),
                             "--change-section-vma",
                             absl::StrFormat("%s=0x%x", section.name, shape.image_base + end)});
    end += section.bytes;
  }
  argv.insert(argv.end(), {stub, target});
  return argv;
}

std::string AddToInitrd(std::string initrd, const std::vector<InitrdFile>& files) {
  Pad(initrd);
  std::set<std::string> folders;  // a parent sorts before what is in it
  for (const InitrdFile& file : files) {
    for (size_t at = file.path.find('/'); at != std::string::npos; at = file.path.find('/', at + 1))
      folders.insert(file.path.substr(0, at));
  }
  unsigned inode = 0;
  for (const std::string& folder : folders) AddMember(initrd, ++inode, folder, kFolderMode, "");
  for (const InitrdFile& file : files)
    AddMember(initrd, ++inode, file.path, kFileMode, file.content);
  AddMember(initrd, 0, "TRAILER!!!", 0, "");
  return initrd;
}

}  // namespace muster::cli
