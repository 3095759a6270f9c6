#include "controller/store/store_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/headers.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

// musterd holds the file's locks only for a moment.
constexpr int kCopyTimeoutMs = 10'000;
constexpr char kIntegrityLines[] = "PRAGMA integrity_check(5)";

}  // namespace

absl::Status CopyStore(const std::string& from, const std::string& to) {
  struct stat info;
  if (stat(from.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", from));
  // VACUUM INTO accepts an empty file, which thus has the right mode from its first byte on.
  const int fd = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("creating ", to));
  close(fd);
  const absl::Status copied = Guard(from, absl::StrCat("copying to ", to), [&]() -> absl::Status {
    soci::session session(*soci::factory_sqlite3(),
                          absl::StrCat("dbname=\"", from, "\" timeout=", kCopyTimeoutMs / 1000));
    session << "VACUUM INTO :file", soci::use(to);
    return absl::OkStatus();
  });
  if (!copied.ok()) unlink(to.c_str());
  return copied;
}

absl::Status CheckStoreThoroughly(const std::string& path) {
  return Guard(path, "checking the store", [&]() -> absl::Status {
    soci::session session(*soci::factory_sqlite3(), absl::StrCat("dbname=\"", path, "\""));
    std::string line;
    std::vector<std::string> lines;
    {
      soci::statement statement = (session.prepare << kIntegrityLines, soci::into(line));
      lines = ReadAll(statement, line);
    }
    if (lines.size() == 1 && lines[0] == "ok") return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("the store ", path, " is damaged: ", absl::StrJoin(lines, "; ")));
  });
}

}  // namespace muster::controller
