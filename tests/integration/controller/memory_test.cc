// What musterd is linked with so that thousands of connections take little memory.
#include <grpc/event_engine/memory_allocator.h>
#include <grpc/slice.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <map>
#include <memory>

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

// An allocator without a limit.
class Unlimited final : public grpc_event_engine::experimental::internal::MemoryAllocatorImpl {
 public:
  size_t Reserve(grpc_event_engine::experimental::MemoryRequest request) override {
    return request.max();
  }
  void Release(size_t) override {}
  void Shutdown() override {}
};

// gRPC asks for 8 KiB for the two buffers between TLS and HTTP/2; other sizes are given as asked.
TEST(Memory, ConnectionsHaveSmallBuffersBetweenTlsAndHttp2) {
  grpc_event_engine::experimental::MemoryAllocator allocator(std::make_shared<Unlimited>());
  for (const auto& [asked, given] : std::map<size_t, size_t>{{8192, 4056}, {8191, 8191}}) {
    const grpc_slice slice = allocator.MakeSlice(asked);
    EXPECT_EQ(GRPC_SLICE_LENGTH(slice), given);
    grpc_slice_unref(slice);
  }
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
