// What gRPC and OpenSSL hold for each connection as long as it lives, idle or not. An agent says
// something small every few seconds, and ten thousand of them would keep buffers for something
// large.
//
// gRPC 1.51 makes all of these itself and lets nobody set their sizes, so the linker redirects
// its calls to the functions below (--wrap, see CMakeLists.txt).
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "controller/constants.h"
#include "grpc/event_engine/memory_allocator.h"
#include "grpc/slice.h"

namespace muster::controller {
namespace {

// In each direction between gRPC and OpenSSL. Before and during the handshake gRPC drops the part
// of a read that does not fit; when it sends, a record that does not fit is an error.
constexpr size_t kPairBytes = 8 * 1024;
static_assert(kPairBytes >= kMaxReadChunkBytes);
static_assert(kPairBytes >= 2 * kMaxTlsFrameBytes);

// gRPC's own two buffers between TLS and HTTP/2: the size that it asks for, and the size that it
// gets, which with the slice's header just fits into 4 KiB.
constexpr size_t kStagingBytes = 8 * 1024;
constexpr size_t kSmallStagingBytes = 4 * 1024 - kSliceHeaderBytes;

}  // namespace
}  // namespace muster::controller

using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryRequest;

extern "C" {

SSL_CTX* __real_SSL_CTX_new(const SSL_METHOD* method);  // NOLINT: the linker's name

SSL_CTX* __wrap_SSL_CTX_new(const SSL_METHOD* method) {  // NOLINT: likewise
  SSL_CTX* const context = __real_SSL_CTX_new(method);
  if (context != nullptr) SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

int __real_BIO_new_bio_pair(BIO** first, size_t first_bytes, BIO** second,
                            size_t second_bytes);  // NOLINT

int __wrap_BIO_new_bio_pair(BIO** first, size_t first_bytes, BIO** second,  // NOLINT
                            size_t second_bytes) {
  using muster::controller::kPairBytes;
  return __real_BIO_new_bio_pair(first, first_bytes == 0 ? kPairBytes : first_bytes, second,
                                 second_bytes == 0 ? kPairBytes : second_bytes);
}

// MemoryAllocator::MakeSlice(MemoryRequest)
grpc_slice
__real__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(  // NOLINT
    MemoryAllocator* self, MemoryRequest request);

grpc_slice
__wrap__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(  // NOLINT
    MemoryAllocator* self, MemoryRequest request) {
  using muster::controller::kSmallStagingBytes;
  using muster::controller::kStagingBytes;
  if (request.min() == kStagingBytes && request.max() == kStagingBytes)
    request = MemoryRequest(kSmallStagingBytes);
  return __real__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(
      self, request);
}

}  // extern "C"
