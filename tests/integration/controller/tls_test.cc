// What a client needs to get past the handshake: TLS 1.3 and no older one, and a certificate each
// time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

// A client's end of one TLS connection, which asks for HTTP/2 as gRPC does. Blocks at most 10 s.
class TlsClient {
 public:
  explicit TlsClient(int max_version) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, max_version);
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(context_, [](SSL* ssl, SSL_SESSION*) {
      ++static_cast<TlsClient*>(SSL_get_app_data(ssl))->tickets_;
      return 0;  // OpenSSL keeps it
    });
  }
  ~TlsClient() {
    SSL_SESSION_free(session_);
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    close(fd_);
  }

  void Show(const ClientIdentity& identity) {
    BIO* const certificate_text = BIO_new_mem_buf(identity.certificate_pem.c_str(), -1);
    BIO* const key_text = BIO_new_mem_buf(identity.key_pem.c_str(), -1);
    X509* const certificate = PEM_read_bio_X509(certificate_text, nullptr, nullptr, nullptr);
    EVP_PKEY* const key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
    EVP_PKEY_free(key);
    X509_free(certificate);
    BIO_free(key_text);
    BIO_free(certificate_text);
  }

  // Whether the handshake succeeds; `session`: resumes that of an earlier connection.
  bool Handshake(int port, SSL_SESSION* session = nullptr) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience = {10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ssl_ = SSL_new(context_);
    SSL_set_app_data(ssl_, this);
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>("\x02h2"), 3);
    SSL_set_fd(ssl_, fd_);
    if (session != nullptr) SSL_set_session(ssl_, session);
    return SSL_connect(ssl_) == 1;
  }

  // Whether the server begins to speak HTTP/2. Tickets come before that.
  bool IsSpokenTo() {
    char byte = 0;
    return SSL_read(ssl_, &byte, 1) == 1;
  }

  bool WasResumed() const { return SSL_session_reused(ssl_) == 1; }
  int tickets() const { return tickets_; }
  SSL_SESSION* session() {
    if (session_ == nullptr) session_ = SSL_get1_session(ssl_);
    return session_;
  }

 private:
  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
  SSL_SESSION* session_ = nullptr;
  int fd_ = -1;
  int tickets_ = 0;
};

class TlsTest : public ControllerFixture {};

TEST_F(TlsTest, RefusesOlderVersions) {
  for (const int port : {controller_->port(), controller_->enrollment_port()}) {
    EXPECT_TRUE(TlsClient(TLS1_3_VERSION).Handshake(port));
    EXPECT_FALSE(TlsClient(TLS1_2_VERSION).Handshake(port));
  }
}

// The attack: a client that was admitted once returns with a session ticket instead of a
// certificate, whose dates and signature nobody checks then.
TEST_F(TlsTest, NobodyComesBackWithATicketInsteadOfACertificate) {
  TlsClient bob(TLS1_3_VERSION);
  bob.Show(Issue(Role::kOperator, "bob"));
  ASSERT_TRUE(bob.Handshake(controller_->port()));
  ASSERT_TRUE(bob.IsSpokenTo());
  EXPECT_EQ(bob.tickets(), 0);

  TlsClient again(TLS1_3_VERSION);
  again.Handshake(controller_->port(), bob.session());
  EXPECT_FALSE(again.WasResumed());
  EXPECT_FALSE(again.IsSpokenTo());
}

}  // namespace
}  // namespace muster::controller
