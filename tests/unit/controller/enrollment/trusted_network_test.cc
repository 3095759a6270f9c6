#include "controller/enrollment/trusted_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

class TrustedNetworkTest : public ::testing::Test {
 protected:
  std::optional<std::string> WhyNot() const { return WhyNotByNetwork(trusted_, macs_, is_, now_); }

  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  const std::vector<IpNetwork> trusted_ = {*IpNetwork::Parse("10.0.0.0/24"),
                                           *IpNetwork::Parse("10.7.0.0/16")};
  const std::vector<std::string> macs_ = {"52:54:00:00:00:01", "52:54:00:00:00:02"};
  NetworkEvidence is_ = {.address = "10.7.3.1",
                         .port = 1023,
                         .neighbor_mac = "52:54:00:00:00:02",
                         .boot_began_at = now_ - absl::Minutes(2)};
};

TEST_F(TrustedNetworkTest, AMachineWithAMacAddressOfTheNodeCountsAsIt) {
  EXPECT_THAT(WhyNot(), Optional(std::string()));
}

TEST_F(TrustedNetworkTest, OtherNetworksAreNotSpokenOf) {
  is_.address = "10.8.3.1";
  EXPECT_EQ(WhyNot(), std::nullopt);
  is_.address = "2001:db8::/64";
  EXPECT_EQ(WhyNot(), std::nullopt);
}

TEST_F(TrustedNetworkTest, EachMissingPieceOfEvidenceIsNamed) {
  const NetworkEvidence whole = is_;
  const auto expect = [&](const char* words, const auto& change) {
    is_ = whole;
    change(is_);
    EXPECT_THAT(WhyNot(), Optional(HasSubstr(words)));
  };
  expect("any user of the machine", [](auto& is) { is.port = 1024; });
  expect("any user of the machine", [](auto& is) { is.port.reset(); });
  expect("not in the controller's own network", [](auto& is) { is.neighbor_mac = ""; });
  expect("has the MAC address 52:54:00:00:00:03",
         [](auto& is) { is.neighbor_mac = "52:54:00:00:00:03"; });
  expect("not asked the boot server", [](auto& is) { is.boot_began_at.reset(); });
  expect("not asked the boot server",
         [this](auto& is) { is.boot_began_at = now_ - kTrustedBootWindow - absl::Seconds(1); });
  expect("is connected as this node", [](auto& is) { is.is_connected = true; });
  expect("joined by a TPM", [](auto& is) { is.has_tpm_on_record = true; });
}

TEST(NeighborMacTest, IsReadFromTheKernelsTable) {
  constexpr char kTable[] =
      "IP address       HW type     Flags       HW address            Mask     Device\n"
      "10.7.3.1         0x1         0x2         52:54:00:0A:00:02     *        eth0\n"
      "10.7.3.10        0x1         0x0         00:00:00:00:00:00     *        eth0\n"
      "10.7.3.11        0x1         0x6         52:54:00:00:00:11     *        eth0\n"
      "10.7.3.12        0x1\n";
  EXPECT_EQ(NeighborMac(kTable, "10.7.3.1"), "52:54:00:0a:00:02");
  EXPECT_EQ(NeighborMac(kTable, "10.7.3.10"), "") << "nobody has answered";
  EXPECT_EQ(NeighborMac(kTable, "10.7.3.11"), "52:54:00:00:00:11");
  EXPECT_EQ(NeighborMac(kTable, "10.7.3.12"), "");
  EXPECT_EQ(NeighborMac(kTable, "10.7.3"), "");
  EXPECT_EQ(NeighborMac(kTable, "IP"), "");
  EXPECT_EQ(NeighborMac("", "10.7.3.1"), "");
}

}  // namespace
}  // namespace muster::controller
