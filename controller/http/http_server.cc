#include "controller/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <microhttpd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "controller/http/http_stream.h"
#include "controller/http/later_reply.h"

namespace muster::controller {
namespace {

// GnuTLS' words for TLS 1.3 alone.
constexpr char kTlsVersions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
constexpr size_t kStreamBlockBytes = 4096;
constexpr unsigned kSilentMilliseconds = 30'000;

// libmicrohttpd tells its reader of streams nothing but the pointer that it was given.
struct StreamState {
  std::shared_ptr<HttpStream> stream;
  MHD_Connection* connection;
};

ssize_t ReadState(void* state, uint64_t, char* buffer, size_t size) {
  const auto* of = static_cast<StreamState*>(state);
  const ssize_t count = of->stream->Read(of->connection, buffer, size);
  return count < 0 ? MHD_CONTENT_READER_END_OF_STREAM : count;
}

void FreeState(void* state) { delete static_cast<StreamState*>(state); }

MHD_Response* ResponseOf(MHD_Connection* connection, HttpReply& reply) {
  if (reply.stream != nullptr) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlockBytes, &ReadState,
                                             new StreamState{std::move(reply.stream), connection},
                                             &FreeState);
  }
  if (reply.fd < 0)
    return MHD_create_response_from_buffer(reply.body.size(), reply.body.data(),
                                           MHD_RESPMEM_MUST_COPY);
  if (reply.part.has_value()) {
    MHD_Response* const part =
        MHD_create_response_from_fd_at_offset64(reply.part->bytes, reply.fd, reply.part->offset);
    if (part == nullptr) close(reply.fd);
    return part;
  }
  struct stat info {};
  MHD_Response* const response =
      fstat(reply.fd, &info) == 0
          ? MHD_create_response_from_fd64(static_cast<uint64_t>(info.st_size), reply.fd)
          : nullptr;
  if (response == nullptr) close(reply.fd);  // otherwise the response closes it
  return response;
}

MHD_Result Send(MHD_Connection* connection, HttpReply reply) {
  MHD_Response* const response = ResponseOf(connection, reply);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  for (const auto& [name, value] : reply.headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result result = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);
  return result;
}

MHD_Result AddHeader(void* values, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpRequest::Values*>(values)->emplace(absl::AsciiStrToLower(name),
                                                     value == nullptr ? "" : value);
  return MHD_YES;
}

MHD_Result AddValue(void* values, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpRequest::Values*>(values)->emplace(name, value == nullptr ? "" : value);
  return MHD_YES;
}

// As gRPC writes the peers of its calls.
std::string PeerOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (info->client_addr->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(info->client_addr);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
    return absl::StrCat("ipv4:", text, ":", ntohs(in->sin_port));
  }
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(info->client_addr);
  inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
  return absl::StrCat("ipv6:[", text, "]:", ntohs(in6->sin6_port));
}

// What is known of a request before all of it is there. Lives from its headers to its reply.
struct Arriving {
  std::string body;
  std::function<void()> on_sent;      // of the reply
  std::shared_ptr<LaterReply> later;  // the reply, once it is awaited
};

void Forget(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode code) {
  const auto* const arriving = static_cast<Arriving*>(*state);
  if (arriving != nullptr && arriving->on_sent && code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
    arriving->on_sent();
  delete arriving;
  *state = nullptr;
}

// A machine that has gone without a word acknowledges nothing, and its connection ends.
void WatchPeer(void*, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode code) {
  if (code != MHD_CONNECTION_NOTIFY_STARTED) return;
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info != nullptr)
    setsockopt(info->connect_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMilliseconds,
               sizeof(kSilentMilliseconds));
}

// Called again when the connection wakes.
MHD_Result Await(MHD_Connection* connection, LaterReply& later) {
  std::optional<HttpReply> reply = later.TakeOrSleep(connection);
  return reply.has_value() ? Send(connection, *std::move(reply)) : MHD_YES;
}

// 0: it is answered; otherwise the status of the refusal.
unsigned Refusal(MHD_Connection* connection, const std::string& method, size_t max_body_bytes) {
  const bool is_post = method == MHD_HTTP_METHOD_POST;
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD &&
      !(is_post && max_body_bytes > 0)) {
    return MHD_HTTP_METHOD_NOT_ALLOWED;
  }
  const char* const length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t bytes = 0;
  const bool is_too_large =
      length != nullptr && (!absl::SimpleAtoi(length, &bytes) || bytes > max_body_bytes);
  return is_too_large ? MHD_HTTP_CONTENT_TOO_LARGE : 0;
}

MHD_Result Handle(void* data, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char* piece, size_t* piece_bytes, void** state) {
  auto& server = *static_cast<HttpServer*>(data);
  auto* arriving = static_cast<Arriving*>(*state);
  if (arriving == nullptr) {  // the headers are there; the answer comes with the last call
    *state = new Arriving;
    const unsigned refusal = Refusal(connection, method, server.max_body_bytes());
    if (refusal == 0) return MHD_YES;
    const char* const methods = server.max_body_bytes() > 0 ? "only GET and POST\n" : "only GET\n";
    return Send(
        connection,
        {.status = refusal,
         .body = refusal == MHD_HTTP_METHOD_NOT_ALLOWED ? methods : "the request is too large\n"});
  }
  if (arriving->later != nullptr) return Await(connection, *arriving->later);
  if (*piece_bytes != 0) {
    if (arriving->body.size() + *piece_bytes > server.max_body_bytes()) return MHD_NO;
    arriving->body.append(piece, *piece_bytes);
    *piece_bytes = 0;
    return MHD_YES;
  }
  HttpRequest request;
  request.method = std::strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
  request.path = url;
  request.peer = PeerOf(connection);
  request.body = std::move(arriving->body);
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &AddHeader, &request.headers);
  MHD_get_connection_values(connection, MHD_COOKIE_KIND, &AddValue, &request.cookies);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &AddValue, &request.query);
  HttpReply reply = server.Answer(request);
  if (reply.later == nullptr) {
    if (std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) arriving->on_sent = reply.on_sent;
    return Send(connection, std::move(reply));
  }
  arriving->later = std::move(reply.later);
  return Await(connection, *arriving->later);
}

HttpReply Stopping() { return {.status = 503, .body = "the controller is stopping\n"}; }

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
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler), options.max_body_bytes));
  const bool has_tls = !options.certificate_pem.empty();
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  if (address.is_ipv6) flags |= MHD_USE_DUAL_STACK;
  if (has_tls) flags |= MHD_USE_TLS;
  std::vector<MHD_OptionItem> more;
  if (has_tls) {
    more = {{MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(options.certificate_pem.c_str())},
            {MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(options.key_pem.c_str())},
            {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)}};
  }
  if (options.max_connection_bytes > 0)
    more.push_back({MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                    static_cast<intptr_t>(options.max_connection_bytes), nullptr});
  if (options.max_connections_per_peer > 0)
    more.push_back({MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                    static_cast<intptr_t>(options.max_connections_per_peer), nullptr});
  more.push_back({MHD_OPTION_END, 0, nullptr});
  errno = 0;
  // A pool of one thread is no pool.
  server->daemon_ =
      MHD_start_daemon(flags, 0, nullptr, nullptr, &Handle, server.get(), MHD_OPTION_SOCK_ADDR,
                       reinterpret_cast<sockaddr*>(&address.storage), MHD_OPTION_CONNECTION_LIMIT,
                       options.max_connections, MHD_OPTION_CONNECTION_TIMEOUT, options.idle_seconds,
                       MHD_OPTION_THREAD_POOL_SIZE, options.threads > 1 ? options.threads : 0U,
                       MHD_OPTION_NOTIFY_COMPLETED, &Forget, nullptr, MHD_OPTION_NOTIFY_CONNECTION,
                       &WatchPeer, nullptr, MHD_OPTION_ARRAY, more.data(), MHD_OPTION_END);
  if (server->daemon_ != nullptr) return server;
  if (has_tls && errno == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("listening on ", options.listen,
                     ": the key does not fit the certificate, or one of them is damaged"));
  }
  return absl::UnavailableError(absl::StrCat("listening on ", options.listen, ": ",
                                             std::strerror(errno), "; set ", options.setting,
                                             " in controller.yaml"));
}

HttpServer::~HttpServer() {
  std::vector<std::weak_ptr<StreamWaker>> streams;
  std::vector<std::weak_ptr<LaterReply>> awaited;
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    streams.swap(streams_);
    awaited.swap(awaited_);
  }
  for (const auto& weak : streams) {
    if (const auto waker = weak.lock()) waker->End();
  }
  for (const auto& weak : awaited) {
    if (const auto later = weak.lock()) later->Finish(Stopping());
  }
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

void HttpServer::Remember(const std::shared_ptr<LaterReply>& later) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return later->Finish(Stopping());
  awaited_.erase(std::remove_if(awaited_.begin(), awaited_.end(),
                                [](const auto& weak) { return weak.expired(); }),
                 awaited_.end());
  awaited_.push_back(later);
}

void HttpServer::Remember(const std::shared_ptr<StreamWaker>& waker) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return waker->End();
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const auto& weak) { return weak.expired(); }),
                 streams_.end());
  streams_.push_back(waker);
}

HttpReply HttpServer::Answer(const HttpRequest& request) {
  HttpReply reply = handler_(request);
  if (reply.stream != nullptr) Remember(reply.stream->waker());
  if (reply.later != nullptr) Remember(reply.later);
  return reply;
}

uint16_t HttpServer::port() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace muster::controller
