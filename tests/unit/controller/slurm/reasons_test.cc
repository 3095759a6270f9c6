#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/slurm/slurm_control.h"

namespace muster::controller::slurm {
namespace {

TEST(SlurmReasons, TellWhoseADrainIs) {
  EXPECT_EQ(OwnReason("v-1", "failed"), "muster:v-1 failed");
  EXPECT_EQ(OwnReason("v-1", "a\nb\"c"), "muster:v-1 a b c");
  EXPECT_LE(OwnReason("v-1", std::string(5000, 'x')).size(), 200u);
  EXPECT_EQ(OwnerOf("muster:v-1 failed"), "v-1");
  EXPECT_EQ(OwnerOf("muster: failed"), std::nullopt);
  EXPECT_EQ(OwnerOf("bad disk muster:v-1"), std::nullopt);
  EXPECT_EQ(OwnerOf("muster:v-1"), std::nullopt);
  EXPECT_EQ(OwnerOf("muster:v-1 \"failed\""), std::nullopt) << "no agent takes such a reason";
  EXPECT_EQ(OwnerOf("muster:v-1 " + std::string(300, 'x')), std::nullopt);
  EXPECT_EQ(OwnerOf(""), std::nullopt);
}

TEST(SlurmReasons, EndLikeSlurmListsThem) {
  EXPECT_EQ(OwnReason("v-1", "failed \n"), "muster:v-1 failed");
  EXPECT_EQ(OwnReason("v-1", std::string(180, 'x') + std::string(40, ' ') + "end"),
            "muster:v-1 " + std::string(180, 'x'));
  EXPECT_EQ(OwnerOf(OwnReason("v-1", std::string(188, 'x') + " cut off here")), "v-1");
}

}  // namespace
}  // namespace muster::controller::slurm
