#include "controller/http/http_server.h"

#include <arpa/inet.h>
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

namespace muster::controller {
namespace {

MHD_Response* ResponseOf(HttpReply& reply) {
  if (reply.fd < 0)
    return MHD_create_response_from_buffer(reply.body.size(), reply.body.data(),
                                           MHD_RESPMEM_MUST_COPY);
  struct stat info {};
  MHD_Response* const response =
      fstat(reply.fd, &info) == 0
          ? MHD_create_response_from_fd64(static_cast<uint64_t>(info.st_size), reply.fd)
          : nullptr;
  if (response == nullptr) close(reply.fd);  // otherwise the response closes it
  return response;
}

MHD_Result Send(MHD_Connection* connection, HttpReply reply) {
  MHD_Response* const response = ResponseOf(reply);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  const MHD_Result result = MHD_queue_response(connection, reply.status, response);
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
    return Send(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET\n"});
  }
  return Send(connection, static_cast<HttpServer*>(server)->Answer(url));
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

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              Handler handler) {
  ASSIGN_OR_RETURN(Address address, ParseAddress(options.listen));
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler)));
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
  if (address.is_ipv6) flags |= MHD_USE_DUAL_STACK;
  // A pool of one thread is no pool.
  server->daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &Handle, server.get(), MHD_OPTION_SOCK_ADDR,
      reinterpret_cast<sockaddr*>(&address.storage), MHD_OPTION_CONNECTION_LIMIT,
      options.max_connections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
      MHD_OPTION_THREAD_POOL_SIZE, options.threads > 1 ? options.threads : 0U, MHD_OPTION_END);
  if (server->daemon_ == nullptr)
    return absl::UnavailableError(absl::StrCat("listening on ", options.listen, ": ",
                                               std::strerror(errno), "; set ", options.setting,
                                               " in controller.yaml"));
  return server;
}

HttpServer::~HttpServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

uint16_t HttpServer::port() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace muster::controller
