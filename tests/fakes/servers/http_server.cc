#include "tests/fakes/servers/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <microhttpd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"

namespace muster::testing {

// One request and its answer, for their duration.
struct HttpCall {
  HttpServer* server;
  HttpReply reply;

  static ssize_t Read(void* self, uint64_t position, char* data, size_t max) {
    auto& call = *static_cast<HttpCall*>(self);
    const std::string& body = call.reply.body;
    const size_t end = std::min(body.size(), call.reply.cut_at.value_or(body.size()));
    if (position >= end) {
      while (call.reply.stalls && !call.server->stopping_) absl::SleepFor(absl::Milliseconds(20));
      return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    const size_t count = std::min(max, end - static_cast<size_t>(position));
    std::memcpy(data, body.data() + position, count);
    call.server->bytes_served_ += count;
    return static_cast<ssize_t>(count);
  }
  static void Free(void* self) { delete static_cast<HttpCall*>(self); }

  static MHD_Result Take(void* request, MHD_ValueKind, const char* name, const char* value) {
    static_cast<HttpRequest*>(request)->headers[absl::AsciiStrToLower(name)] = value;
    return MHD_YES;
  }
  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char*, const char* data, size_t* size,
                           void** state) {
    auto* server = static_cast<HttpServer*>(self);
    HttpRequest request;
    if (absl::string_view(method) == "POST" || absl::string_view(method) == "PATCH") {
      // Called for the headers, for each part of the body, and at its end.
      if (*state == nullptr) {
        *state = new std::string;
        return MHD_YES;
      }
      auto* body = static_cast<std::string*>(*state);
      body->append(data, *size);
      if (std::exchange(*size, 0) > 0) return MHD_YES;
      request.body = *body;
    }
    request.path = url;
    request.method = method;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &Take, &request);
    auto call = std::make_unique<HttpCall>(HttpCall{server, server->Reply(request)});
    const uint64_t length = call->reply.claimed_length.value_or(call->reply.body.size());
    const unsigned status = call->reply.status;
    const std::map<std::string, std::string> headers = call->reply.headers;
    MHD_Response* response =
        MHD_create_response_from_callback(length, 16 << 10, &Read, call.release(), &Free);
    for (const auto& [name, value] : headers)
      MHD_add_response_header(response, name.c_str(), value.c_str());
    const MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
  }
  static void Completed(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
    delete static_cast<std::string*>(*state);
  }
};

std::optional<uint64_t> HttpRequest::offset() const {
  const auto range = headers.find("range");
  if (range == headers.end()) return std::nullopt;
  absl::string_view text = range->second;
  uint64_t offset = 0;
  if (!absl::ConsumePrefix(&text, "bytes=") || !absl::ConsumeSuffix(&text, "-") ||
      !absl::SimpleAtoi(text, &offset))
    return std::nullopt;
  return offset;
}

HttpServer::HttpServer() { Start(nullptr, nullptr); }

HttpServer::HttpServer(const std::string& certificate, const std::string& key) : is_tls_(true) {
  Start(certificate.c_str(), key.c_str());
}

void HttpServer::Start(const char* certificate, const char* key) {
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}) ::unsetenv(name);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD;
  // Without TLS the list of options ends before those of TLS.
  daemon_ = MHD_start_daemon(flags | (is_tls_ ? static_cast<unsigned>(MHD_USE_TLS) : 0u), 0,
                             nullptr, nullptr, &HttpCall::Answer, this, MHD_OPTION_SOCK_ADDR,
                             reinterpret_cast<sockaddr*>(&address), MHD_OPTION_NOTIFY_COMPLETED,
                             &HttpCall::Completed, nullptr,
                             is_tls_ ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, certificate,
                             MHD_OPTION_HTTPS_MEM_KEY, key, MHD_OPTION_END);
  if (daemon_ == nullptr) std::abort();
}

HttpServer::~HttpServer() {
  stopping_ = true;
  MHD_stop_daemon(daemon_);
}

std::string HttpServer::Url(const std::string& path) const {
  return absl::StrCat(is_tls_ ? "https" : "http", "://127.0.0.1:",
                      MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port, path);
}

std::vector<HttpRequest> HttpServer::requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}

void HttpServer::Handle(const std::string& path, Handler handler) {
  absl::MutexLock lock(&mutex_);
  handlers_[path] = std::move(handler);
}

void HttpServer::Serve(const std::string& path, std::string content) {
  Handle(path, [content = std::move(content)](const HttpRequest& request) {
    return Answer(request, content);
  });
}

HttpReply HttpServer::Answer(const HttpRequest& request, const std::string& content) {
  HttpReply reply;
  const std::string etag = absl::StrCat("\"", Sha256Hex(content).substr(0, 16), "\"");
  reply.headers["ETag"] = etag;
  const auto condition = request.headers.find("if-range");
  const bool same = condition == request.headers.end() || condition->second == etag;
  const std::optional<uint64_t> offset = request.offset();
  if (!offset.has_value() || !same) {
    reply.body = content;
    return reply;
  }
  if (*offset >= content.size()) {
    reply.status = 416;
    reply.headers["Content-Range"] = absl::StrCat("bytes */", content.size());
    return reply;
  }
  reply.status = 206;
  reply.headers["Content-Range"] =
      absl::StrCat("bytes ", *offset, "-", content.size() - 1, "/", content.size());
  reply.body = content.substr(*offset);
  return reply;
}

HttpReply HttpServer::Reply(const HttpRequest& request) {
  Handler handler;
  {
    absl::MutexLock lock(&mutex_);
    requests_.push_back(request);
    const auto it = handlers_.find(request.path);
    if (it != handlers_.end()) handler = it->second;
  }
  if (!handler) return {.status = 404, .body = "not here\n"};
  return handler(request);
}

}  // namespace muster::testing
