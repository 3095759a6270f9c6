#include "agent/burnin/nic/link/link_watch.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/burnin_ranks.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
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
  void Set(const std::string& file, const std::string& text) { SetOf("lo", file, text); }
  void SetOf(const std::string& name, const std::string& file, const std::string& text) {
    files_.AddFile("/sys/class/net/" + name + "/" + file, text + "\n");
  }
  // A card, or a port without hardware, that carries `above`.
  void Carry(const std::string& above, const std::string& name, bool is_card) {
    files_.AddLink("/sys/class/net/" + above + "/lower_" + name, "../" + name);
    if (is_card) files_.AddLink("/sys/class/net/" + name + "/device", "../../../0000:3b:00.0");
    SetOf(name, "operstate", "up");
    SetOf(name, "carrier", "1");
    SetOf(name, "carrier_changes", "3");
    SetOf(name, "statistics/rx_crc_errors", "5");
    SetOf(name, "statistics/rx_errors", "5");
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

// A VLAN on a bond counts no damaged frames; its cards do, and theirs were not read.
TEST_F(LinkWatchTest, CardsBelowTheInterfaceAreWatchedToo) {
  Carry("lo", "vlan7", /*is_card=*/false);
  Carry("vlan7", "mtest0", /*is_card=*/true);
  Carry("vlan7", "mtest1", /*is_card=*/true);
  Carry("vlan7", "mtest2", /*is_card=*/true);
  Carry("vlan7", "vnet0", /*is_card=*/false);
  SetOf("mtest2", "carrier", "0");
  EXPECT_THAT(CardsBelow(files_, "lo"), ElementsAre("mtest0", "mtest1", "mtest2"));
  EXPECT_THAT(CardsBelow(files_, "mtest0"), IsEmpty());
  EXPECT_TRUE(HasCard(files_, "lo"));
  EXPECT_TRUE(HasCard(files_, "mtest0"));
  EXPECT_FALSE(HasCard(files_, "vnet0"));
  LinkWatch watch(files_, kAddress);
  SetOf("mtest0", "statistics/rx_crc_errors", "9");
  SetOf("mtest1", "carrier_changes", "5");
  SetOf("vnet0", "statistics/rx_crc_errors", "900");
  CheckResult result;
  watch.Report(result);
  ASSERT_THAT(result.subjects, SizeIs(3));
  EXPECT_EQ(result.subjects[0].attributes.count("below"), 0u);
  EXPECT_EQ(result.subjects[1].id, "mtest0");
  EXPECT_EQ(result.subjects[1].attributes.at("below"), "lo");
  ASSERT_THAT(result.faults, SizeIs(2));
  EXPECT_EQ(result.faults[0].code, "crc_errors");
  EXPECT_EQ(result.faults[0].subject, "mtest0");
  EXPECT_EQ(result.faults[1].code, "link_flapped");
  EXPECT_EQ(result.faults[1].subject, "mtest1");
}

TEST_F(LinkWatchTest, ACardOfABondThatWasLostIsAFault) {
  Carry("lo", "mtest0", /*is_card=*/true);
  LinkWatch watch(files_, kAddress);
  SetOf("mtest0", "carrier", "0");
  CheckResult result;
  watch.Report(result);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "link_down");
  EXPECT_EQ(result.faults[0].subject, "mtest0");
}

}  // namespace
}  // namespace muster::burnin
