#include "tests/fakes/http2_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr size_t kFrameHeader = 9;
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndHeaders = 4;

template <typename T, void (*Free)(T*)>
struct Freer {
  void operator()(T* object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freer<BIO, BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;

Bio Reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A header that is not added to a table, by RFC 7541, 6.2.2.
std::string Field(absl::string_view name, absl::string_view value) {
  std::string field(1, '\0');
  for (const absl::string_view text : {name, value}) {
    field.push_back(static_cast<char>(text.size()));  // below 127: one byte
    absl::StrAppend(&field, text);
  }
  return field;
}

}  // namespace

struct Http2Client::Tls {
  std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>> context;
  std::unique_ptr<SSL, Freer<SSL, SSL_free>> ssl;
};

Http2Client::Http2Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

Http2Client::~Http2Client() {
  tls_.reset();
  if (fd_ >= 0) close(fd_);
}

bool Http2Client::Handshake(const std::string& certificate_pem, const std::string& key_pem) {
  // OpenSSL writes without MSG_NOSIGNAL, and the peer may close at any time.
  std::signal(SIGPIPE, SIG_IGN);
  tls_ = std::make_unique<Tls>();
  tls_->context.reset(SSL_CTX_new(TLS_client_method()));
  if (!certificate_pem.empty()) {
    const Bio certificate_text = Reading(certificate_pem);
    const Bio key_text = Reading(key_pem);
    const X509Ptr certificate(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
    const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(tls_->context.get(), certificate.get());
    SSL_CTX_use_PrivateKey(tls_->context.get(), key.get());
  }
  tls_->ssl.reset(SSL_new(tls_->context.get()));
  SSL_set_alpn_protos(tls_->ssl.get(), reinterpret_cast<const unsigned char*>("\x02h2"), 3);
  SSL_set_fd(tls_->ssl.get(), fd_);
  if (SSL_connect(tls_->ssl.get()) != 1) return false;
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  return true;
}

void Http2Client::Send(absl::string_view bytes) {
  if (tls_ != nullptr) {
    SSL_write(tls_->ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
  } else {
    send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Http2Client::SendPreface() {
  Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  SendFrame(kSettings, 0, 0, "");
}

void Http2Client::SendFrame(FrameType type, uint8_t flags, uint32_t stream,
                            absl::string_view payload) {
  std::string frame;
  const auto number = [&](uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      frame.push_back(static_cast<char>(value >> shift & 0xff));
  };
  number(payload.size(), 3);
  number(type, 1);
  number(flags, 1);
  number(stream, 4);
  absl::StrAppend(&frame, payload);
  Send(frame);
}

void Http2Client::BeginCall(uint32_t stream, absl::string_view path) {
  SendFrame(kHeaders, kEndHeaders, stream,
            absl::StrCat(Field(":method", "POST"), Field(":scheme", "https"), Field(":path", path),
                         Field(":authority", "localhost"),
                         Field("content-type", "application/grpc"), Field("te", "trailers")));
}

bool Http2Client::ReadAll() {
  char piece[4096];
  for (;;) {
    const ssize_t count = tls_ != nullptr ? SSL_read(tls_->ssl.get(), piece, sizeof(piece))
                                          : recv(fd_, piece, sizeof(piece), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(piece, static_cast<size_t>(count));
      continue;
    }
    if (tls_ != nullptr)
      return SSL_get_error(tls_->ssl.get(), static_cast<int>(count)) == SSL_ERROR_WANT_READ;
    return count < 0 && errno == EAGAIN;
  }
}

bool Http2Client::Pump(bool keeps_settings) {
  if (fd_ < 0) return false;
  const bool is_open = ReadAll();
  while (is_open && received_.size() >= kFrameHeader) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(received_[i]); };
    const size_t length = size_t{at(0)} << 16 | size_t{at(1)} << 8 | at(2);
    if (received_.size() < kFrameHeader + length) break;
    const std::string payload = received_.substr(kFrameHeader, length);
    const uint8_t type = at(3);
    const bool is_ack = (at(4) & kAck) != 0;
    received_.erase(0, kFrameHeader + length);
    if (type == kPing && !is_ack) SendFrame(kPing, kAck, 0, payload);
    if (type == kSettings && !is_ack && !keeps_settings) SendFrame(kSettings, kAck, 0, "");
  }
  return is_open;
}

}  // namespace muster::testing
