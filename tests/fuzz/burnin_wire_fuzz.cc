// Data that may come over the network to a node that tests it: handshakes and frames.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "agent/burnin/nic/transport/wire.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace muster::burnin;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

FUZZ_TARGET(burnin_wire, data, size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto greeting = ParseGreeting(bytes); greeting.ok())
    Require(Encode(*greeting) == bytes);
  if (const auto hello = ParseHello(bytes); hello.ok()) {
    Require(Encode(*hello) == bytes);
    Require(ConnectorProof("k", {.nonce = hello->nonce}, *hello).size() == kProofBytes);
  }
  // However the network cuts the stream, the frames are the same.
  FrameDecoder whole;
  FrameDecoder pieces;
  whole.Add(bytes);
  std::string taken;
  for (size_t at = 0; at <= size;) {
    const auto expected = whole.Next();
    auto frame = pieces.Next();
    while (frame.ok() && !frame->has_value() && at < size) {
      pieces.Add(bytes.substr(at++, 1));
      frame = pieces.Next();
    }
    Require(expected.ok() == frame.ok());
    if (!expected.ok() || !expected->has_value()) break;
    Require(frame->has_value() && Encode(**frame) == Encode(**expected));
    Require((*frame)->values.size() <= Frame::kMaxValues);
    taken += Encode(**frame);
    Require(bytes.substr(0, taken.size()) == taken);
  }
  return 0;
}
