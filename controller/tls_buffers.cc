// OpenSSL's buffers of idle connections. An agent says something every few seconds, and between
// that its connection would keep what it has read and written last: some 13 KiB for each of ten
// thousand.
//
// gRPC makes its contexts itself and lets nobody set their modes, so the linker leads its calls of
// SSL_CTX_new here (--wrap, see CMakeLists.txt).
#include <openssl/ssl.h>

extern "C" {

SSL_CTX* __real_SSL_CTX_new(const SSL_METHOD* method);  // NOLINT: the linker's name

SSL_CTX* __wrap_SSL_CTX_new(const SSL_METHOD* method) {  // NOLINT: likewise
  SSL_CTX* const context = __real_SSL_CTX_new(method);
  if (context != nullptr) SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // extern "C"
