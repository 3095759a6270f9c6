#include "agent/facts/gather.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/text/no_answer.h"
#include "common/wire/message_rules.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

absl::Notification* release_hung_probe = nullptr;
std::atomic<int> hung_probe_starts{0};

absl::Status Good(const ProbeContext&, v1::Facts& facts) {
  facts.mutable_memory()->set_total_mib(7);
  return absl::OkStatus();
}
absl::Status Bad(const ProbeContext&, v1::Facts& facts) {
  facts.mutable_cpu()->set_cpus(99);  // a partial answer must not be used
  return absl::InternalError("no such topology");
}
absl::Status Hangs(const ProbeContext&, v1::Facts&) {
  ++hung_probe_starts;
  release_hung_probe->WaitForNotification();
  return absl::OkStatus();
}

TEST(Gather, FailedAndHungProbesAreUnknownAndDelayNobody) {
  absl::Notification release;
  release_hung_probe = &release;
  hung_probe_starts = 0;
  RealClock clock;
  FactsGatherer gatherer({}, {{"memory", Good}, {"cpu", Bad}, {"gpus", Hangs}}, clock,
                         absl::Milliseconds(500));
  v1::Facts facts = gatherer.Gather();
  EXPECT_EQ(facts.memory().total_mib(), 7u);
  EXPECT_FALSE(facts.has_cpu());
  ASSERT_EQ(facts.unknown_size(), 2);
  EXPECT_EQ(facts.unknown(0).probe(), "cpu");
  EXPECT_EQ(facts.unknown(0).reason(), "no such topology");
  EXPECT_EQ(facts.unknown(1).probe(), "gpus");
  EXPECT_EQ(facts.unknown(1).reason(), "no answer in 500ms");

  facts = gatherer.Gather();  // still hanging: reported, and not started again
  EXPECT_EQ(facts.unknown_size(), 2);
  EXPECT_EQ(hung_probe_starts, 1);
  release.Notify();
  // Once the probe has come back, it is asked again.
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  while ((facts.unknown_size() == 2 || hung_probe_starts == 1) && absl::Now() < limit) {
    absl::SleepFor(absl::Milliseconds(5));
    facts = gatherer.Gather();
  }
  EXPECT_EQ(facts.unknown_size(), 1);
  EXPECT_GT(hung_probe_starts, 1);
}

absl::Notification* releases[2] = {};
// Not that of Hangs, whose last attempt may begin when its test is over.
std::atomic<int> late_probe_starts = 0;

// At its first two starts.
absl::Status HangsTwice(const ProbeContext&, v1::Facts& facts) {
  const int starts = ++late_probe_starts;
  v1::GpuFacts& gpu = *facts.add_gpus();
  gpu.set_uuid(absl::StrCat("GPU-", starts));
  gpu.set_slurm_type("h100");
  if (starts <= 2) releases[starts - 1]->WaitForNotification();
  return absl::OkStatus();
}

// A driver that has to initialize eight GPUs first is late every time.
TEST(Gather, AnAnswerThatCameTooLateCountsForALaterCallAndOnce) {
  absl::Notification first, second;
  releases[0] = &first;
  releases[1] = &second;
  late_probe_starts = 0;
  RealClock clock;
  FactsGatherer gatherer({}, {{"gpus", HangsTwice}}, clock, absl::Milliseconds(50));
  EXPECT_TRUE(LacksGpus(gatherer.Gather()));
  EXPECT_TRUE(LacksGpus(gatherer.Gather())) << "it still hangs";
  first.Notify();
  v1::Facts facts;
  for (int i = 0; i < 1000 && facts.gpus().empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    facts = gatherer.Gather();
  }
  ASSERT_EQ(facts.gpus_size(), 1);
  EXPECT_EQ(facts.gpus(0).uuid(), "GPU-1");
  EXPECT_EQ(facts.unknown_size(), 0);
  EXPECT_TRUE(LacksGpus(gatherer.Gather())) << "the second attempt hangs, too";
  second.Notify();
  for (int i = 0; i < 1000 && late_probe_starts < 3; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    gatherer.Gather();
  }
  EXPECT_EQ(late_probe_starts, 3);
}

// It may be from before a change.
TEST(Gather, AnAnswerThatCameTooLateCountsForTwoMinutes) {
  absl::Notification first, second;
  releases[0] = &first;
  releases[1] = &second;
  late_probe_starts = 0;
  testing::FakeClock clock;
  FactsGatherer gatherer({}, {{"gpus", HangsTwice}}, clock);
  v1::Facts facts;
  const auto gather_until = [&](int starts) {
    std::thread call([&] {
      do {
        facts = gatherer.Gather();
      } while (late_probe_starts < starts);
    });
    while (late_probe_starts < starts) absl::SleepFor(absl::Milliseconds(1));
    clock.Advance(absl::Minutes(3));
    call.join();
  };
  gather_until(1);
  EXPECT_TRUE(LacksGpus(facts));
  first.Notify();
  gather_until(2);
  EXPECT_TRUE(LacksGpus(facts));
  second.Notify();
  for (int i = 0; i < 1000 && late_probe_starts < 3; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    gatherer.Gather();
  }
}

absl::Status Slow(const ProbeContext&, v1::Facts& facts) {
  absl::SleepFor(absl::Milliseconds(50));
  facts.mutable_os()->set_kernel("6.1.0");
  return absl::OkStatus();
}

// After a reboot the plan asks for facts while the session reports them: a kernel that is not known
// would cost the node its pass.
TEST(Gather, CallsOfTwoThreadsDoNotTakeEachOthersProbesForHanging) {
  RealClock clock;
  FactsGatherer gatherer({}, {{"os", Slow}}, clock, absl::Seconds(30));
  v1::Facts of_plan;
  std::thread plan([&] { of_plan = gatherer.Gather(); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gatherer.Gather().unknown_size(), 0);
  plan.join();
  EXPECT_EQ(of_plan.os().kernel(), "6.1.0");
}

// A user of the node can name a mount point, and a disk's maker a model.
TEST(Gather, OddValuesCostThemselvesAlone) {
  v1::Facts facts;
  facts.mutable_os()->set_kernel("6.1.0");
  v1::MountFacts& mount = *facts.add_mounts();
  mount.set_target("/home/eve/x\nProlog=/tmp/evil");
  mount.set_type("fuse.sshfs");
  facts.add_disks()->set_model("ODD \x01\xff DISK");
  facts.add_nics()->set_name("odd name");
  facts.mutable_nics(0)->set_mac("00:11:22:33:44:55");
  FitFacts(facts);
  EXPECT_OK(wire::Check(facts));
  EXPECT_EQ(facts.mounts(0).target(), "/home/eve/x Prolog=/tmp/evil");
  EXPECT_EQ(facts.disks(0).model(), "ODD  \xef\xbf\xbd DISK");
  EXPECT_EQ(facts.nics(0).name(), "");
  EXPECT_EQ(facts.nics(0).mac(), "00:11:22:33:44:55");
  ASSERT_EQ(facts.unknown_size(), 1);
  EXPECT_EQ(facts.unknown(0).probe(), "nics");
  EXPECT_EQ(facts.unknown(0).reason(), "left out: name: not only letters, digits and '._-+:@!'");
}

TEST(Gather, EveryProbeHasAFieldsName) {
  for (const Probe& probe : AllProbes())
    EXPECT_NE(v1::Facts::descriptor()->FindFieldByName(probe.name), nullptr) << probe.name;
}

}  // namespace
}  // namespace muster::agent
