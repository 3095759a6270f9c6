#include "agent/burnin/nic/transport/wire.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <bit>
#include <cassert>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

// The last character is the version.
constexpr absl::string_view kMagic("MUSTNIC1", 8);

void Append32(uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

uint64_t ReadLittle(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

std::string EncodeChannel(const ChannelId& channel) {
  std::string out;
  Append32(static_cast<uint32_t>(channel.purpose), out);
  Append32(channel.rank, out);
  Append32(channel.phase, out);
  Append32(channel.stream, out);
  return out;
}

std::string Proof(absl::string_view key, absl::string_view side, const Greeting& greeting,
                  const Hello& hello) {
  assert(!key.empty());
  // Every part has a fixed length, so that no two conversations give the same text.
  const std::string text =
      absl::StrCat(kMagic, side, greeting.nonce, EncodeChannel(hello.channel), hello.nonce);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

}  // namespace

std::string Encode(const Greeting& greeting) { return absl::StrCat(kMagic, greeting.nonce); }

std::string Encode(const Hello& hello) {
  return absl::StrCat(kMagic, EncodeChannel(hello.channel), hello.nonce, hello.proof);
}

absl::StatusOr<Greeting> ParseGreeting(absl::string_view bytes) {
  if (bytes.size() != kGreetingBytes || !absl::StartsWith(bytes, kMagic))
    return absl::InvalidArgumentError(
        "the program listening there is not a muster-burnin of this version");
  return Greeting{.nonce = std::string(bytes.substr(kMagic.size()))};
}

absl::StatusOr<Hello> ParseHello(absl::string_view bytes) {
  if (bytes.size() != kHelloBytes || !absl::StartsWith(bytes, kMagic))
    return absl::InvalidArgumentError(
        "the connecting program is not a muster-burnin of this version");
  bytes.remove_prefix(kMagic.size());
  const uint64_t purpose = ReadLittle(bytes.substr(0, 4));
  if (purpose < static_cast<uint64_t>(Purpose::kControl) ||
      purpose > static_cast<uint64_t>(Purpose::kRing))
    return absl::InvalidArgumentError(absl::StrCat("connection for an unknown purpose ", purpose));
  Hello hello;
  hello.channel = {.purpose = static_cast<Purpose>(purpose),
                   .rank = static_cast<uint32_t>(ReadLittle(bytes.substr(4, 4))),
                   .phase = static_cast<uint32_t>(ReadLittle(bytes.substr(8, 4))),
                   .stream = static_cast<uint32_t>(ReadLittle(bytes.substr(12, 4)))};
  hello.nonce = std::string(bytes.substr(16, kNonceBytes));
  hello.proof = std::string(bytes.substr(16 + kNonceBytes));
  return hello;
}

std::string ConnectorProof(absl::string_view key, const Greeting& greeting, const Hello& hello) {
  return Proof(key, "connects", greeting, hello);
}

std::string ListenerProof(absl::string_view key, const Greeting& greeting, const Hello& hello) {
  return Proof(key, "listens.", greeting, hello);
}

std::string Encode(const Frame& frame) {
  assert(frame.values.size() <= Frame::kMaxValues);
  std::string out;
  out.push_back(static_cast<char>(frame.type));
  out.push_back(static_cast<char>(frame.values.size()));
  out.append(2, '\0');
  for (const double value : frame.values) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    Append32(static_cast<uint32_t>(bits), out);
    Append32(static_cast<uint32_t>(bits >> 32), out);
  }
  return out;
}

absl::StatusOr<std::optional<Frame>> FrameDecoder::Next() {
  const absl::string_view bytes = buffer_;
  if (bytes.size() < Frame::kHeaderBytes) return std::optional<Frame>();
  const uint64_t type = ReadLittle(bytes.substr(0, 1));
  const uint64_t count = ReadLittle(bytes.substr(1, 1));
  if (type == 0 || type > kLastFrameType || count > Frame::kMaxValues ||
      ReadLittle(bytes.substr(2, 2)) != 0)
    return absl::InvalidArgumentError("the partner sent something that is not a frame");
  const size_t size = Frame::kHeaderBytes + count * sizeof(uint64_t);
  if (bytes.size() < size) return std::optional<Frame>();
  Frame frame{.type = static_cast<FrameType>(type), .values = {}};
  for (size_t at = Frame::kHeaderBytes; at < size; at += sizeof(uint64_t)) {
    const double value = std::bit_cast<double>(ReadLittle(bytes.substr(at, sizeof(uint64_t))));
    if (!std::isfinite(value))
      return absl::InvalidArgumentError("the partner sent a value that is not a number");
    frame.values.push_back(value);
  }
  buffer_.erase(0, size);
  return std::optional<Frame>(std::move(frame));
}

}  // namespace muster::burnin
