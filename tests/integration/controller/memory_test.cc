// What musterd is linked with so that thousands of connections take little memory.
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#ifndef MUSTER_SANITIZED
#include <jemalloc/jemalloc.h>
#endif

namespace muster::controller {
namespace {

TEST(Memory, IdleConnectionsReleaseTheirTlsBuffers) {
  SSL_CTX* const context = SSL_CTX_new(TLS_method());
  ASSERT_NE(context, nullptr);
  EXPECT_NE(SSL_CTX_get_mode(context) & SSL_MODE_RELEASE_BUFFERS, 0);
  SSL_CTX_free(context);
}

// gRPC asks for OpenSSL's own 17 KiB, twice a connection.
TEST(Memory, ConnectionsHaveSmallPairsBetweenGrpcAndTls) {
  BIO* first = nullptr;
  BIO* second = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&first, 0, &second, 0), 1);
  EXPECT_EQ(BIO_get_write_buf_size(first, 0), 8 * 1024);
  EXPECT_EQ(BIO_get_write_buf_size(second, 0), 8 * 1024);
  BIO_free(first);
  BIO_free(second);
}

#ifndef MUSTER_SANITIZED
TEST(Memory, TheAllocatorHasFewArenasAndReturnsMemoryByItself) {
  unsigned arenas = 0;
  size_t size = sizeof(arenas);
  ASSERT_EQ(mallctl("opt.narenas", &arenas, &size, nullptr, 0), 0);
  EXPECT_EQ(arenas, 4u);
  bool has_thread = false;
  size = sizeof(has_thread);
  ASSERT_EQ(mallctl("background_thread", &has_thread, &size, nullptr, 0), 0);
  EXPECT_TRUE(has_thread);
}
#endif

}  // namespace
}  // namespace muster::controller
