// TLS 1.3 is the least: a client that offers only 1.2 does not get past the handshake.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "tests/fakes/test_controller.h"

namespace muster::controller {
namespace {

class TlsTest : public ControllerFixture {
 protected:
  // Whether a handshake with at most this version succeeds, with HTTP/2 asked for as gRPC does.
  static bool Handshakes(int port, int max_version) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, max_version);
    SSL* ssl = SSL_new(context);
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>("\x02h2"), 3);
    SSL_set_fd(ssl, fd);
    const bool is_done = SSL_connect(ssl) == 1;
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return is_done;
  }
};

TEST_F(TlsTest, RefusesOlderVersions) {
  for (const int port : {controller_->port(), controller_->enrollment_port()}) {
    EXPECT_TRUE(Handshakes(port, TLS1_3_VERSION));
    EXPECT_FALSE(Handshakes(port, TLS1_2_VERSION));
  }
}

}  // namespace
}  // namespace muster::controller
