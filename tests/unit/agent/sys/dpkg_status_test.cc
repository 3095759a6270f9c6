#include "agent/sys/apt/dpkg_status.h"

#include <gmock/gmock.h>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kStatus[] = R"(Package: munge
Status: install ok installed
Architecture: amd64
Version: 0.5.15-2
Description: authentication service
 Status: a line of the description, not a field
Provides: mta-like, other (= 1.0)

Package: nano
Status: deinstall ok config-files
Version: 7.2

Package: driver
Status: hold ok installed
Architecture: amd64
Version: 550

Package: slurmd
Status: install ok half-configured
Architecture: amd64
Version: 22.05.8

Package: man-db
Status: install ok triggers-pending
Architecture: amd64
Version: 2.11

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36
)";

TEST(DpkgStatus, TellsWhatIsInstalled) {
  const DpkgStatus status = DpkgStatus::Parse(kStatus);
  EXPECT_EQ(status.InstalledVersion("munge"), "0.5.15-2");
  EXPECT_EQ(status.InstalledVersion("libc6:amd64"), "2.36");
  EXPECT_EQ(status.InstalledVersion("libc6:i386"), "");
  EXPECT_EQ(status.InstalledVersion("nano"), "") << "only its configuration is left";
  EXPECT_EQ(status.InstalledVersion("slurmd"), "") << "not configured";
  EXPECT_EQ(status.InstalledVersion("man-db"), "2.11") << "a pending trigger harms nobody";
  EXPECT_EQ(status.InstalledVersion("absent"), "");
}

TEST(DpkgStatus, KnowsHoldsAndLeftConfiguration) {
  const DpkgStatus status = DpkgStatus::Parse(kStatus);
  EXPECT_TRUE(status.IsHeld("driver"));
  EXPECT_TRUE(status.IsHeld("driver:amd64"));
  EXPECT_EQ(status.InstalledVersion("driver"), "550");
  EXPECT_FALSE(status.IsHeld("munge"));
  EXPECT_TRUE(status.HasConfigurationOnly("nano"));
  EXPECT_FALSE(status.HasConfigurationOnly("munge"));
}

TEST(DpkgStatus, KnowsVirtualPackages) {
  const DpkgStatus status = DpkgStatus::Parse(kStatus);
  EXPECT_TRUE(status.IsProvided("mta-like"));
  EXPECT_TRUE(status.IsProvided("other"));
  EXPECT_FALSE(status.IsProvided("munge"));
}

TEST(DpkgStatus, FindsInterruptedTransactions) {
  EXPECT_THAT(DpkgStatus::Parse(kStatus).half_done(), ElementsAre("slurmd", "man-db"));
}

TEST(DpkgStatus, PassesOverWhatItDoesNotKnow) {
  EXPECT_THAT(DpkgStatus::Parse("").half_done(), IsEmpty());
  const DpkgStatus status = DpkgStatus::Parse(
      "Package: x\nStatus: install\n\n\n\nStatus: install ok "
      "installed\nVersion: 1\n\nnonsense");
  EXPECT_EQ(status.InstalledVersion("x"), "");
  EXPECT_EQ(status.InstalledVersion(""), "");
}

}  // namespace
}  // namespace muster::agent
