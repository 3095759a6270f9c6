// Archives come from the network and go to the disk: whatever the bytes are, nothing may end up
// outside the directory, and no link may lead there.
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/sys/archive/archive_extract.h"
#include "common/sys/place.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(archive_extract, data, size) {
  namespace fs = std::filesystem;
  const muster::testing::TempDir dir;
  const fs::path root(dir.path()), tree = root / "in" / "tree", archive = root / "archive";
  fs::create_directories(tree);
  std::ofstream(archive, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  muster::sys::ExtractOptions options = {.uid = ::geteuid(), .gid = ::getegid()};
  options.max_bytes = 1 << 20;
  options.max_entries = 100;
  options.place = "/opt/app";
  using muster::sys::LastLink;
  const auto file = muster::sys::OpenFile(archive, O_RDONLY, LastLink::kRefuse, "reading");
  const auto folder = muster::sys::OpenFolder(tree, "opening");
  if (!file.ok() || !folder.ok()) std::abort();
  const auto entries = muster::sys::ExtractArchive(file->get(), *folder, options);
  // Beside the tree there is only what was there before, even after a refusal in the middle.
  size_t beside = 0;
  for (const auto& entry : fs::directory_iterator(root)) beside += entry.exists() ? 1 : 0;
  for (const auto& entry : fs::directory_iterator(root / "in")) beside += entry.exists() ? 1 : 0;
  if (beside != 3) std::abort();
  if (!entries.ok()) return 0;
  size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    ++found;
    const fs::file_status status = entry.symlink_status();
    if (fs::is_symlink(status)) {
      const fs::path target = fs::read_symlink(entry.path());
      if (target.is_absolute() && target.string().rfind("/opt/app", 0) != 0) std::abort();
      std::error_code error;
      const fs::path end = fs::weakly_canonical(entry.path().parent_path() / target, error);
      const fs::path home = fs::canonical(tree);
      if (!error && target.is_relative() && end.string().rfind(home.string(), 0) != 0) std::abort();
    } else if (!fs::is_regular_file(status) && !fs::is_directory(status)) {
      std::abort();
    }
    if (!fs::is_symlink(status) &&
        (status.permissions() & (fs::perms::set_uid | fs::perms::set_gid)) != fs::perms::none)
      std::abort();
  }
  if (found != entries->size() || found > options.max_entries) std::abort();
  return 0;
}
