// The protocol between two nodes that test the network between them: a handshake in which both
// prove that they know the one-time key, then short frames of numbers on the control connection.
//
// All of it comes from the network: parsers accept any bytes, and nothing is larger than the limits
// here. Numbers are little-endian.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::burnin {

inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kProofBytes = 32;  // HMAC-SHA256

// The purpose of a connection.
enum class Purpose : uint8_t { kControl = 1, kData = 2, kEcho = 3, kRing = 4 };

// Identifies a connection within one execution of a check; each is made once.
struct ChannelId {
  Purpose purpose = Purpose::kControl;
  uint32_t rank = 0;  // of the connecting side
  uint32_t phase = 0;
  uint32_t stream = 0;

  auto operator<=>(const ChannelId&) const = default;
};

// First message, from the listener: its challenge.
struct Greeting {
  std::string nonce;  // kNonceBytes
};
// Second message, from the connecting side: the connection that it wants, its own challenge and its
// proof.
struct Hello {
  ChannelId channel;
  std::string nonce;  // kNonceBytes
  std::string proof;  // kProofBytes
};
// The third and last message is the listener's proof: kProofBytes.

inline constexpr size_t kGreetingBytes = 8 + kNonceBytes;
inline constexpr size_t kHelloBytes = 8 + 16 + kNonceBytes + kProofBytes;

std::string Encode(const Greeting& greeting);
std::string Encode(const Hello& hello);
// InvalidArgument: anything but exactly one greeting or hello of this version.
absl::StatusOr<Greeting> ParseGreeting(absl::string_view bytes);
absl::StatusOr<Hello> ParseHello(absl::string_view bytes);

// The proofs of the two sides cover different words, so that neither can be sent back, and they
// cover both challenges and the requested connection. REQUIRES: `key` is not empty.
std::string ConnectorProof(absl::string_view key, const Greeting& greeting, const Hello& hello);
std::string ListenerProof(absl::string_view key, const Greeting& greeting, const Hello& hello);

enum class FrameType : uint8_t {
  kReady = 1,     // phase
  kMeasured = 2,  // phase, rate of received data
  kSent = 3,      // phase, retransmitted segments
  kTimes = 4,     // round-trip times
  kToken = 5,     // goes around a ring: round, value
  kLost = 6,      // rank that is lost
  kBye = 7,       // the end, without an error
  kGo = 8,        // step of a program run on both sides, its port
  kPing = 9,      // are you alive?
  kPong = 10,     // yes
  kPorts = 11,    // indices of the ports to measure
};
inline constexpr uint8_t kLastFrameType = 11;

// One message on a control connection.
struct Frame {
  static constexpr size_t kMaxValues = 16;
  static constexpr size_t kHeaderBytes = 4;

  FrameType type = FrameType::kBye;
  std::vector<double> values;

  // 0 if there are fewer values.
  double value(size_t index) const { return index < values.size() ? values[index] : 0; }
};

// REQUIRES: at most kMaxValues values.
std::string Encode(const Frame& frame);

// Cuts a stream of bytes into frames; holds at most one incomplete frame and the bytes that were
// added.
class FrameDecoder {
 public:
  void Add(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }
  // nullopt: not complete yet. InvalidArgument: not a frame; the connection is useless from then
  // on.
  absl::StatusOr<std::optional<Frame>> Next();

 private:
  std::string buffer_;
};

}  // namespace muster::burnin
