#include "agent/burnin/nic/link/link_watch.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/burnin_ranks.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;
using testing::MetricOf;
using ::testing::SizeIs;

// The interface with this address exists on every machine; the test provides its readings.
constexpr char kAddress[] = "127.0.0.1";

class LinkWatchTest : public ::testing::Test {
 protected:
  LinkWatchTest() {
    Set("operstate", "up");
    Set("carrier", "1");
    Set("statistics/rx_crc_errors", "7");
    Set("statistics/rx_errors", "7");
    Set("statistics/rx_dropped", "2");
  }
  void Set(const std::string& file, const std::string& text) {
    files_.AddFile("/sys/class/net/lo/" + file, text + "\n");
  }

  testing::FakeFileSystem files_;
};

TEST_F(LinkWatchTest, ErrorsFromBeforeTheTestDoNotCount) {
  LinkWatch watch(files_, kAddress);
  ASSERT_EQ(watch.interface(), "lo");
  CheckResult result;
  watch.Report(result);
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_EQ(MetricOf(result, "rx_crc_errors"), 0);
  EXPECT_EQ(MetricOf(result, "rx_dropped"), 0);
}

TEST_F(LinkWatchTest, FramesDamagedDuringTheTestAreAFault) {
  LinkWatch watch(files_, kAddress);
  Set("statistics/rx_crc_errors", "19");
  Set("statistics/rx_errors", "19");
  Set("statistics/rx_dropped", "5");
  CheckResult result;
  watch.Report(result);
  EXPECT_EQ(MetricOf(result, "rx_crc_errors"), 12);
  EXPECT_EQ(MetricOf(result, "rx_errors"), 12);
  EXPECT_EQ(MetricOf(result, "rx_dropped"), 3);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "crc_errors");
  EXPECT_EQ(result.faults[0].subject, "lo");
  EXPECT_THAT(result.faults[0].message, Said());
}

TEST_F(LinkWatchTest, DroppedPacketsAloneAreNoFault) {
  LinkWatch watch(files_, kAddress);
  Set("statistics/rx_dropped", "500");
  CheckResult result;
  watch.Report(result);
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_EQ(MetricOf(result, "rx_dropped"), 498);
}

}  // namespace
}  // namespace muster::burnin
