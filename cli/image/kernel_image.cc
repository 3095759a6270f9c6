#include "cli/image/kernel_image.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::cli {
namespace {

constexpr uint64_t kPage = 4096;
// Offsets of the PE format.
constexpr size_t kPeOffsetAt = 60;
constexpr size_t kSectionCountAt = 6, kOptionalSizeAt = 20, kOptionalAt = 24;
constexpr size_t kImageBaseAt = 24, kAlignmentAt = 32;  // in the optional header
constexpr size_t kSectionBytes = 40, kVirtualSizeAt = 8, kVirtualAddressAt = 12;
constexpr uint64_t kPe32Plus = 0x20b;
constexpr unsigned kFileMode = 0100600, kFolderMode = 040755;

// 0 beyond the end, which no header has where it matters.
uint64_t ReadNumber(absl::string_view content, size_t at, size_t bytes) {
  if (at > content.size() || bytes > content.size() - at) return 0;
  uint64_t number = 0;
  for (size_t i = bytes; i > 0; --i)
    number = number << 8 | static_cast<unsigned char>(content[at + i - 1]);
  return number;
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
  const size_t header = ReadNumber(content, kPeOffsetAt, 4);
  const size_t optional = header + kOptionalAt;
  if (content.substr(0, 2) != "MZ" || ReadNumber(content, header, 4) != 0x4550 ||
      ReadNumber(content, optional, 2) != kPe32Plus)
    return absl::InvalidArgumentError("it is no EFI program of a 64-bit machine");
  StubShape shape;
  shape.image_base = ReadNumber(content, optional + kImageBaseAt, 8);
  shape.alignment = std::max(kPage, ReadNumber(content, optional + kAlignmentAt, 4));
  const size_t sections = ReadNumber(content, header + kSectionCountAt, 2);
  const size_t first = optional + ReadNumber(content, header + kOptionalSizeAt, 2);
  for (size_t i = 0; i < sections; ++i) {
    const size_t at = first + i * kSectionBytes;
    shape.end = std::max(shape.end, ReadNumber(content, at + kVirtualSizeAt, 4) +
                                        ReadNumber(content, at + kVirtualAddressAt, 4));
  }
  if (shape.end == 0) return absl::InvalidArgumentError("it is an EFI program without sections");
  return shape;
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
