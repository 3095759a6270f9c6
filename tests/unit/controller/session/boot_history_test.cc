#include "controller/session/boot_history.h"

#include <gtest/gtest.h>

namespace muster::controller {
namespace {

const absl::Time kBootNow = absl::FromUnixSeconds(1'900'000'000);

TEST(BootHistory, AMachineMayBootAsOftenAsItLikes) {
  BootHistory boots("", "");
  for (const char* boot : {"a", "a", "b", "c", "c"}) EXPECT_TRUE(boots.Accept(boot)) << boot;
  EXPECT_EQ(boots.earlier(), "a b");
}

TEST(BootHistory, ABootThatIsBackAfterAnotherIsAClones) {
  BootHistory boots("a", "");
  EXPECT_TRUE(boots.Accept("b"));
  EXPECT_FALSE(boots.Accept("a"));
  EXPECT_TRUE(boots.Accept("b")) << "the machine that was there is not shut out";
}

TEST(BootHistory, OutlivesTheController) {
  BootHistory boots("c", "a b");
  EXPECT_FALSE(boots.Accept("a"));
  EXPECT_FALSE(boots.Accept("b"));
  EXPECT_EQ(boots.earlier(), "a b");
}

TEST(BootHistory, RemembersTheLastFew) {
  BootHistory boots("1", "");
  for (const char* boot : {"2", "3", "4", "5", "6"}) EXPECT_TRUE(boots.Accept(boot));
  EXPECT_EQ(boots.earlier(), "2 3 4 5");
}

TEST(BootHistory, ARefusalIsNewsOnceForABootAndOnceAnHour) {
  BootHistory boots("b", "a");
  EXPECT_TRUE(boots.IsNews("a", kBootNow, absl::Hours(1)));
  boots.OnAudited("a", kBootNow);
  EXPECT_FALSE(boots.IsNews("a", kBootNow + absl::Hours(9), absl::Hours(1)));
  EXPECT_FALSE(boots.IsNews("z", kBootNow + absl::Minutes(59), absl::Hours(1)));
  EXPECT_TRUE(boots.IsNews("z", kBootNow + absl::Hours(1), absl::Hours(1)));
  EXPECT_TRUE(boots.IsNews("z", kBootNow - absl::Hours(24), absl::Hours(1))) << "set back";
}

}  // namespace
}  // namespace muster::controller
