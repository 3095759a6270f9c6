#include "controller/http/package_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <microhttpd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "controller/http/packages.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kPrefix = "/packages/";
constexpr unsigned kThreads = 2;

MHD_Result Reply(MHD_Connection* connection, unsigned status, const char* text) {
  MHD_Response* response = MHD_create_response_from_buffer(
      std::strlen(text), const_cast<char*>(text), MHD_RESPMEM_PERSISTENT);
  const MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

MHD_Result Handle(void* server, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char*, size_t* upload_size, void** state) {
  static int seen;
  if (*state == nullptr) {  // the headers are there; the answer comes with the next call
    *state = &seen;
    return MHD_YES;
  }
  if (*upload_size != 0) return MHD_NO;
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return Reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  }
  const int fd = static_cast<PackageServer*>(server)->OpenPackage(url);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) return Reply(connection, MHD_HTTP_NOT_FOUND, "not found\n");
  MHD_Response* response =
      MHD_create_response_from_fd64(static_cast<uint64_t>(info.st_size), fd);  // takes fd over
  if (response == nullptr) {
    close(fd);
    return MHD_NO;
  }
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          "application/vnd.debian.binary-package");
  const MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
  MHD_destroy_response(response);
  return result;
}

struct Address {
  sockaddr_storage storage{};
  bool is_ipv6 = false;
};

absl::StatusOr<Address> ParseAddress(absl::string_view listen) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("'", listen, "' is not address:port, as in 0.0.0.0:7480 or [::]:7480"));
  };
  const size_t colon = listen.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &port) ||
      port > 65535) {
    return bad();
  }
  absl::string_view host = listen.substr(0, colon);
  Address address;
  address.is_ipv6 = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  const std::string text(host);
  if (address.is_ipv6) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) != 1) return bad();
  } else {
    auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) != 1) return bad();
  }
  return address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PackageServer>> PackageServer::Start(const std::string& listen,
                                                                    const std::string& folder) {
  ASSIGN_OR_RETURN(Address address, ParseAddress(listen));
  std::unique_ptr<PackageServer> server(new PackageServer(folder));
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
  if (address.is_ipv6) flags |= MHD_USE_DUAL_STACK;
  server->daemon_ =
      MHD_start_daemon(flags, 0, nullptr, nullptr, &Handle, server.get(), MHD_OPTION_SOCK_ADDR,
                       reinterpret_cast<sockaddr*>(&address.storage), MHD_OPTION_CONNECTION_LIMIT,
                       kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
                       MHD_OPTION_THREAD_POOL_SIZE, kThreads, MHD_OPTION_END);
  if (server->daemon_ == nullptr)
    return absl::UnavailableError(absl::StrCat("listening on ", listen, ": ", std::strerror(errno),
                                               "; set package_listen in controller.yaml"));
  return server;
}

PackageServer::~PackageServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

uint16_t PackageServer::port() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int PackageServer::OpenPackage(absl::string_view url) const {
  if (!absl::ConsumePrefix(&url, kPrefix) || !IsPackageName(url)) return -1;
  const std::string path = absl::StrCat(folder_, "/", url);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace muster::controller
