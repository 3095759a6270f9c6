#include "common/base/text/disk_image.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(DiskImage, IsTheOneThatTheBootLoaderStarted) {
  EXPECT_EQ(DiskImageOf("BOOT_IMAGE=/vmlinuz boot=muster muster.image=worker@1a2b3c4d5e6f "
                        "muster.slot=b muster.sha256=00 quiet\n"),
            "worker@1a2b3c4d5e6f");
  // In memory, on a machine that was installed by hand, and what only looks like it.
  EXPECT_EQ(DiskImageOf("boot=muster muster.image=worker@1a2b3c4d5e6f\n"), "");
  EXPECT_EQ(DiskImageOf("root=/dev/sda2 quiet"), "");
  EXPECT_EQ(DiskImageOf("x.muster.image=worker@1a2b3c4d x.muster.slot=a"), "");
  EXPECT_EQ(DiskImageOf(""), "");
}

TEST(DiskImage, EitherDigestMayBeTheShorter) {
  EXPECT_TRUE(IsSameBuild("worker@1a2b3c4d", "worker@1a2b3c4d5e6f"));
  EXPECT_TRUE(IsSameBuild("worker@1a2b3c4d5e6f", "worker@1a2b3c4d"));
  EXPECT_FALSE(IsSameBuild("worker@1a2b3c4d", "worker@1a2b3c4f5e6f"));
  EXPECT_FALSE(IsSameBuild("worker@1a2b3c4d", "worker2@1a2b3c4d"));
  EXPECT_FALSE(IsSameBuild("", "worker@1a2b3c4d"));
  EXPECT_FALSE(IsSameBuild("worker@1a2b3c4d", ""));
}

}  // namespace
}  // namespace muster
