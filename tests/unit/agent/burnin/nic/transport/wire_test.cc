#include "agent/burnin/nic/transport/wire.h"

#include <gmock/gmock.h>

#include <limits>

#include "absl/strings/escaping.h"

namespace muster::burnin {
namespace {

using ::testing::ElementsAre;

const Greeting kGreeting{.nonce = std::string(kNonceBytes, 'a')};

Hello MakeHello() {
  return {.channel = {.purpose = Purpose::kData, .rank = 1, .phase = 0xfffffffe, .stream = 7},
          .nonce = std::string(kNonceBytes, 'b'),
          .proof = std::string(kProofBytes, 'c')};
}

TEST(WireTest, HandshakeComesBackAsItWent) {
  const absl::StatusOr<Greeting> greeting = ParseGreeting(Encode(kGreeting));
  ASSERT_TRUE(greeting.ok());
  EXPECT_EQ(greeting->nonce, kGreeting.nonce);
  const absl::StatusOr<Hello> hello = ParseHello(Encode(MakeHello()));
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->channel, MakeHello().channel);
  EXPECT_EQ(hello->nonce, MakeHello().nonce);
  EXPECT_EQ(hello->proof, MakeHello().proof);
  EXPECT_EQ(Encode(kGreeting).size(), kGreetingBytes);
  EXPECT_EQ(Encode(MakeHello()).size(), kHelloBytes);
}

TEST(WireTest, RefusesWhatIsNoHandshake) {
  EXPECT_FALSE(ParseGreeting("").ok());
  EXPECT_FALSE(ParseGreeting(Encode(kGreeting) + "x").ok());
  EXPECT_FALSE(ParseHello(Encode(MakeHello()).substr(1)).ok());
  std::string other_version = Encode(MakeHello());
  other_version[7] = '2';
  EXPECT_FALSE(ParseHello(other_version).ok());
  std::string other_purpose = Encode(MakeHello());
  other_purpose[8] = 9;
  EXPECT_FALSE(ParseHello(other_purpose).ok());
}

TEST(WireTest, ProofsDependOnAllThatWasSaid) {
  const Hello hello = MakeHello();
  const std::string proof = ConnectorProof("key", kGreeting, hello);
  EXPECT_EQ(proof.size(), kProofBytes);
  EXPECT_EQ(proof, ConnectorProof("key", kGreeting, hello));
  EXPECT_NE(proof, ListenerProof("key", kGreeting, hello)) << "it could be sent back";
  EXPECT_NE(proof, ConnectorProof("kez", kGreeting, hello));
  EXPECT_NE(proof, ConnectorProof("key", {.nonce = std::string(kNonceBytes, 'x')}, hello));
  Hello changed = hello;
  changed.nonce[31] = 'x';
  EXPECT_NE(proof, ConnectorProof("key", kGreeting, changed));
  changed = hello;
  changed.channel.stream = 8;
  EXPECT_NE(proof, ConnectorProof("key", kGreeting, changed));
}

// Computed by another program (Python's hmac) over the text that wire.cc composes: a node of
// another build must get the same.
TEST(WireTest, ProofIsHmacSha256) {
  const std::string proof = ConnectorProof("key", kGreeting, MakeHello());
  EXPECT_EQ(absl::BytesToHexString(proof),
            "4162553bb9524b7c5017187ec494d326128e1e5f4f422921f0f0153c64006023");
}

TEST(FrameDecoderTest, CutsAStreamIntoFrames) {
  const std::string bytes = Encode({FrameType::kMeasured, {1, 9.4}}) +
                            Encode({FrameType::kBye, {}}) +
                            Encode({FrameType::kTimes, std::vector<double>(16, -0.5)});
  // However the stream is cut.
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{4}, size_t{50}, bytes.size()}) {
    SCOPED_TRACE(piece);
    FrameDecoder decoder;
    std::vector<Frame> frames;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      decoder.Add(absl::string_view(bytes).substr(at, piece));
      for (;;) {
        absl::StatusOr<std::optional<Frame>> frame = decoder.Next();
        ASSERT_TRUE(frame.ok());
        if (!frame->has_value()) break;
        frames.push_back(**frame);
      }
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].type, FrameType::kMeasured);
    EXPECT_THAT(frames[0].values, ElementsAre(1, 9.4));
    EXPECT_EQ(frames[0].value(2), 0) << "a missing value is 0";
    EXPECT_EQ(frames[1].type, FrameType::kBye);
    EXPECT_EQ(frames[2].values.size(), 16u);
  }
}

TEST(FrameDecoderTest, RefusesWhatIsNoFrame) {
  const std::string cases[] = {
      std::string("\0\0\0\0", 4),                                               // no type
      std::string("\x7f\0\0\0", 4),                                             // unknown
      std::string("\x01\x11\0\0", 4),                                           // 17 values
      std::string("\x01\0\0\x01", 4),                                           // reserved
      Encode({FrameType::kToken, {std::numeric_limits<double>::quiet_NaN()}}),  // not a number
      Encode({FrameType::kToken, {std::numeric_limits<double>::infinity()}}),
  };
  for (const std::string& bytes : cases) {
    FrameDecoder decoder;
    decoder.Add(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(decoder.Next().status()));
  }
}

}  // namespace
}  // namespace muster::burnin
