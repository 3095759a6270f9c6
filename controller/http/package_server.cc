#include "controller/http/package_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "controller/http/packages.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kPrefix = "/packages/";
// Many racks of machines that join or update at once. One machine needs a connection or two, and
// several racks may stand behind one address.
constexpr unsigned kMaxConnections = 4096;
constexpr unsigned kMaxConnectionsPerPeer = 64;
constexpr unsigned kThreads = 2;
// A reader that takes nothing for so long is gone.
constexpr unsigned kIdleSeconds = 30;
// Paths and headers of apt are short.
constexpr size_t kMaxConnectionBytes = size_t{16} << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartPackageServer(const std::string& listen,
                                                               const std::string& folder,
                                                               HttpServer::Handler others) {
  return HttpServer::Start(
      {.listen = listen,
       .setting = "package_listen",
       .max_connections = kMaxConnections,
       .threads = kThreads,
       .idle_seconds = kIdleSeconds,
       .max_connections_per_peer = kMaxConnectionsPerPeer,
       .max_connection_bytes = kMaxConnectionBytes},
      [folder, others = std::move(others)](const HttpRequest& request) -> HttpReply {
        if (others != nullptr && !absl::StartsWith(request.path, kPrefix)) return others(request);
        const int fd = OpenPackage(folder, request.path);
        if (fd < 0) return {.body = "not found\n"};
        return {.status = 200, .content_type = "application/vnd.debian.binary-package", .fd = fd};
      });
}

int OpenPackage(const std::string& folder, absl::string_view path) {
  if (!absl::ConsumePrefix(&path, kPrefix) || !IsPackageName(path)) return -1;
  const std::string file = absl::StrCat(folder, "/", path);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace muster::controller
