#include "agent/burnin/nic/pair/peers.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

namespace muster::burnin {
namespace {

constexpr ChannelId kChannel{.purpose = Purpose::kData, .rank = 1, .phase = 2, .stream = 3};

Moment Soon() { return After(absl::Seconds(10)); }

std::unique_ptr<PeerListener> OpenWith(std::string key) {
  absl::StatusOr<std::unique_ptr<PeerListener>> listener =
      PeerListener::Open({.address = "127.0.0.1"}, std::move(key));
  EXPECT_TRUE(listener.ok()) << listener.status();
  return *std::move(listener);
}

Endpoint EndpointOf(const PeerListener& listener) {
  return {.address = "127.0.0.1", .port = listener.port()};
}

// True: the other end has closed it.
bool ClosedSoon(int fd) {
  char byte;
  absl::Status status;
  for (int i = 0; status.ok() && i < 1000; ++i) status = ReceiveAll(fd, &byte, 1, Soon());
  return absl::IsUnavailable(status);
}

TEST(PeersTest, BothEndsThatKnowTheKeyGetTheConnection) {
  const auto listener = OpenWith("secret");
  absl::StatusOr<sys::UniqueFd> out =
      ConnectToPeer(EndpointOf(*listener), {}, "secret", kChannel, Soon());
  ASSERT_TRUE(out.ok()) << out.status();
  absl::StatusOr<sys::UniqueFd> in = listener->Await(kChannel, Soon(), nullptr);
  ASSERT_TRUE(in.ok()) << in.status();
  ASSERT_TRUE(SendAll(out->get(), "hello", Soon()).ok());
  char bytes[5];
  ASSERT_TRUE(ReceiveAll(in->get(), bytes, 5, Soon()).ok());
  EXPECT_EQ(std::string(bytes, 5), "hello");
  EXPECT_EQ(listener->refused(), 0);
}

// Inventories have names. Some systems know ::1 by this one too, where nothing listens.
TEST(PeersTest, APartnerMayHaveAName) {
  const auto listener = OpenWith("secret");
  const absl::StatusOr<sys::UniqueFd> out =
      ConnectToPeer({"localhost", listener->port()}, {}, "secret", kChannel, Soon());
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(RemoteEndpoint(out->get())->address, "127.0.0.1");
  EXPECT_EQ(RemoteEndpoint(out->get())->port, listener->port());
  EXPECT_TRUE(listener->Await(kChannel, Soon(), nullptr).ok());
}

// With two interfaces in one network, packets left by the first, whichever was asked for.
TEST(PeersTest, ConnectionsAreOfTheInterfaceThatIsAskedFor) {
  const LocalEnd loopback{.address = "127.0.0.1", .interface = "lo"};
  const auto listener = PeerListener::Open(loopback, "secret");
  ASSERT_TRUE(listener.ok()) << listener.status();
  const auto out = ConnectToPeer(EndpointOf(**listener), loopback, "secret", kChannel, Soon());
  ASSERT_TRUE(out.ok()) << out.status();
  const auto in = (*listener)->Await(kChannel, Soon(), nullptr);
  ASSERT_TRUE(in.ok()) << in.status();
  for (const int fd : {out->get(), in->get()}) {
    char name[IFNAMSIZ] = "";
    socklen_t size = sizeof name;
    ASSERT_EQ(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size), 0);
    EXPECT_STREQ(name, "lo");
  }
  EXPECT_FALSE(Listen({.interface = "mtest-none"}, 1).ok());
}

TEST(PeersTest, OnlyNamesOfPartnersAreLookedUp) {
  EXPECT_FALSE(Connect({"no-such-host.invalid", 4711}, {}, After(absl::Seconds(30))).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Listen({.address = "localhost"}, 1).status()));
}

TEST(PeersTest, AnotherKeyIsRefused) {
  const auto listener = OpenWith("secret");
  const absl::StatusOr<sys::UniqueFd> out =
      ConnectToPeer(EndpointOf(*listener), {}, "other", kChannel, Soon());
  EXPECT_TRUE(absl::IsPermissionDenied(out.status())) << out.status();
  EXPECT_EQ(listener->refused(), 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      listener->Await(kChannel, After(absl::Milliseconds(50)), nullptr).status()));
}

TEST(PeersTest, WithoutAKeyNoPortIsOpened) {
  EXPECT_TRUE(absl::IsInvalidArgument(PeerListener::Open({.address = "127.0.0.1"}, "").status()));
}

TEST(PeersTest, WhoListensMustKnowTheKeyToo) {
  // It repeats what it heard: the connecting side's proof is not accepted as its own.
  absl::StatusOr<sys::UniqueFd> socket = Listen({.address = "127.0.0.1"}, 1);
  ASSERT_TRUE(socket.ok());
  const int port = LocalEndpoint(socket->get())->port;
  std::thread impostor([&] {
    ASSERT_TRUE(WaitFor(socket->get(), POLLIN, Soon()).ok());
    const sys::UniqueFd fd(accept4(socket->get(), nullptr, nullptr, SOCK_NONBLOCK));
    ASSERT_TRUE(SendAll(fd.get(), Encode(Greeting{std::string(kNonceBytes, 'n')}), Soon()).ok());
    char bytes[kHelloBytes];
    ASSERT_TRUE(ReceiveAll(fd.get(), bytes, kHelloBytes, Soon()).ok());
    ASSERT_TRUE(SendAll(fd.get(), ParseHello({bytes, kHelloBytes})->proof, Soon()).ok());
  });
  const absl::Status status =
      ConnectToPeer({"127.0.0.1", port}, {}, "secret", kChannel, Soon()).status();
  impostor.join();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST(PeersTest, NoiseIsClosedAtOnce) {
  const auto listener = OpenWith("secret");
  const absl::StatusOr<sys::UniqueFd> noise = Connect(EndpointOf(*listener), {}, Soon());
  ASSERT_TRUE(noise.ok());
  ASSERT_TRUE(SendAll(noise->get(), std::string(kHelloBytes, 'x'), Soon()).ok());
  EXPECT_TRUE(ClosedSoon(noise->get()));
  EXPECT_EQ(listener->refused(), 1);
}

TEST(PeersTest, SilentStrangersDoNotKeepThePartnerOut) {
  const auto listener = OpenWith("secret");
  std::vector<sys::UniqueFd> strangers;
  for (size_t i = 0; i < PeerListener::kMaxPending * 3; ++i) {
    absl::StatusOr<sys::UniqueFd> fd = Connect(EndpointOf(*listener), {}, Soon());
    ASSERT_TRUE(fd.ok()) << fd.status();
    strangers.push_back(*std::move(fd));
  }
  EXPECT_TRUE(ConnectToPeer(EndpointOf(*listener), {}, "secret", kChannel, Soon()).ok());
  EXPECT_TRUE(listener->Await(kChannel, Soon(), nullptr).ok());
  EXPECT_TRUE(ClosedSoon(strangers.front().get())) << "the oldest had to go";
}

TEST(PeersTest, ThePortClosesWithItsOwner) {
  auto listener = OpenWith("secret");
  const Endpoint endpoint = EndpointOf(*listener);
  const absl::StatusOr<sys::UniqueFd> stranger = Connect(endpoint, {}, Soon());
  ASSERT_TRUE(stranger.ok());
  listener.reset();
  EXPECT_TRUE(ClosedSoon(stranger->get()));
  EXPECT_TRUE(absl::IsUnavailable(Connect(endpoint, {}, Soon()).status()));
}

TEST(PeersTest, AStopEndsAWait) {
  const auto listener = OpenWith("secret");
  EXPECT_TRUE(absl::IsCancelled(listener->Await(kChannel, Soon(), [] { return true; }).status()));
}

}  // namespace
}  // namespace muster::burnin
