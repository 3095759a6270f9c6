// The client's side of a connection, from TCP up to HTTP/2, which stops wherever a test wants.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// Speaks to a port of the loopback. Never waits after Handshake(). Not thread-safe.
class Http2Client {
 public:
  // Frame types of HTTP/2, from RFC 9113.
  enum FrameType : uint8_t { kHeaders = 1, kSettings = 4, kPing = 6 };

  // Connects by TCP and sends nothing.
  explicit Http2Client(int port);
  ~Http2Client();  // closes

  // TLS, asking for HTTP/2; without a certificate if `certificate_pem` is empty. Waits.
  bool Handshake(const std::string& certificate_pem, const std::string& key_pem);
  // Sends raw bytes, within TLS after Handshake().
  void Send(absl::string_view bytes);
  // Sends the preface of an HTTP/2 connection.
  void SendPreface();
  void SendFrame(FrameType type, uint8_t flags, uint32_t stream, absl::string_view payload);
  // Sends the headers of a gRPC call, whose message never comes. Clients' streams have odd numbers.
  void BeginCall(uint32_t stream, absl::string_view path);

  // Reads the available bytes: answers pings, and acknowledges the settings unless
  // `keeps_settings`. False: the peer has closed.
  bool Pump(bool keeps_settings = false);

 private:
  struct Tls;
  // Reads the available bytes; false: the peer has closed.
  bool ReadAll();

  int fd_ = -1;
  std::unique_ptr<Tls> tls_;  // nullptr before Handshake()
  std::string received_;
};

}  // namespace muster::testing
