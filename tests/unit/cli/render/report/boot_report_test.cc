#include "cli/render/report/boot_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/proto_time.h"
#include "muster/v1/boot.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

v1::Boot BootOf(const std::string& what, absl::Duration ago,
                const std::vector<std::pair<v1::BootPhase, int>>& steps) {
  v1::Boot boot;
  boot.set_what(what);
  for (const auto& [phase, seconds] : steps) {
    v1::BootStep& step = *boot.add_steps();
    step.set_phase(phase);
    *step.mutable_time() = ToTimestamp(kNow - ago + absl::Seconds(seconds));
  }
  return boot;
}

v1::NodeBoot NodeOf(const std::string& name, const std::string& next, v1::BootSource source) {
  v1::NodeBoot node;
  node.set_node(name);
  node.add_macs("0c:42:a1:00:12:01");
  node.set_next(next);
  node.set_source(source);
  return node;
}

TEST(BootReportTest, WhatNodesBootAndHowFarTheyCame) {
  v1::ListBootsResponse response;
  response.set_is_serving(true);
  v1::NodeBoot done = NodeOf("c001", "worker", v1::BOOT_SOURCE_INVENTORY);
  done.set_disk("stateful@1a2b3c4d5e6f");
  *done.mutable_last() = BootOf("worker@1a2b3c4d5e6f", absl::Hours(2),
                                {{v1::BOOT_PHASE_SCRIPT, 0},
                                 {v1::BOOT_PHASE_KERNEL, 1},
                                 {v1::BOOT_PHASE_INITRD, 3},
                                 {v1::BOOT_PHASE_ROOT, 40},
                                 {v1::BOOT_PHASE_VERIFIED, 42},
                                 {v1::BOOT_PHASE_SWITCHED, 43}});
  *response.add_nodes() = done;
  v1::NodeBoot refused = NodeOf("c002", "rescue", v1::BOOT_SOURCE_ORDER);
  refused.set_once(true);
  refused.set_ordered_by("admin:alice");
  *refused.mutable_last() = BootOf("rescue@1a2b3c4d5e6f", absl::Minutes(1),
                                   {{v1::BOOT_PHASE_SCRIPT, 0}, {v1::BOOT_PHASE_REFUSED, 30}});
  refused.mutable_last()->mutable_steps(1)->set_detail(
      "the root has the digest aa, but is to have bb");
  *response.add_nodes() = refused;
  v1::NodeBoot no_mac = NodeOf("c003", "disk", v1::BOOT_SOURCE_UNSPECIFIED);
  no_mac.clear_macs();
  *response.add_nodes() = no_mac;
  EXPECT_THAT(RenderBoots(response, {}, kNow), Said());
  response.set_is_serving(false);
  response.set_dropped(7);
  response.clear_nodes();
  *response.add_nodes() = NodeOf("c004", "disk", v1::BOOT_SOURCE_UNSPECIFIED);
  EXPECT_THAT(RenderBoots(response, {}, kNow), Said());
}

TEST(BootReportTest, ABootThatWentWrongEndsWithItsConsole) {
  v1::ListBootsResponse response;
  response.set_is_serving(true);
  v1::NodeBoot stopped = NodeOf("c001", "worker", v1::BOOT_SOURCE_INVENTORY);
  *stopped.mutable_last() = BootOf("worker@1a2b3c4d5e6f", absl::Hours(1),
                                   {{v1::BOOT_PHASE_SCRIPT, 0}, {v1::BOOT_PHASE_KERNEL, 1}});
  *response.add_nodes() = stopped;
  EXPECT_TRUE(HasGoneWrong(stopped.last(), kNow));
  const ConsoleEnds consoles = {{"c001",
                                 {"[    1.2] Kernel panic - not syncing: No working init found.",
                                  "[    1.2] \x1b[2J---[ end Kernel panic ]---"}}};
  EXPECT_THAT(RenderBoots(response, consoles, kNow), Said());
  EXPECT_FALSE(
      HasGoneWrong(BootOf("worker", absl::Seconds(50), {{v1::BOOT_PHASE_SCRIPT, 0}}), kNow));
  EXPECT_TRUE(
      HasGoneWrong(BootOf("worker", absl::Seconds(50), {{v1::BOOT_PHASE_REFUSED, 0}}), kNow));
  EXPECT_FALSE(HasGoneWrong(v1::Boot(), kNow));
}

TEST(BootReportTest, ADiskThatIsWrittenIsNotDoneBeforeItsRootHasComeUp) {
  std::vector<std::pair<v1::BootPhase, int>> steps = {{v1::BOOT_PHASE_SCRIPT, 0},
                                                      {v1::BOOT_PHASE_SWITCHED, 1}};
  const auto state = [&] {
    v1::Boot boot = BootOf("worker", absl::Hours(1), steps);
    boot.set_writes_disk(true);
    return StateOfBoot(boot, kNow);
  };
  EXPECT_EQ(state(), "stopped after switched");
  steps.emplace_back(v1::BOOT_PHASE_WRITTEN, 2);
  EXPECT_EQ(state(), "written");
  steps.emplace_back(v1::BOOT_PHASE_HEALTHY, 3);
  EXPECT_EQ(state(), "done");
  steps.back().first = v1::BOOT_PHASE_FALLEN_BACK;
  EXPECT_EQ(state(), "fallen back");
  steps.back().first = v1::BOOT_PHASE_NOT_WRITTEN;
  EXPECT_EQ(state(), "not written");
}

TEST(BootReportTest, ABootThatDoesNotGoOnHasStopped) {
  const std::vector<std::pair<v1::BootPhase, int>> steps = {{v1::BOOT_PHASE_SCRIPT, 0},
                                                            {v1::BOOT_PHASE_KERNEL, 1}};
  EXPECT_EQ(StateOfBoot(BootOf("worker", absl::Seconds(61), steps), kNow), "kernel, 1m 00s ago");
  EXPECT_EQ(StateOfBoot(BootOf("worker", absl::Hours(1), steps), kNow), "stopped after kernel");
  EXPECT_EQ(StateOfBoot(BootOf("disk", absl::Hours(1), {{v1::BOOT_PHASE_SCRIPT, 0}}), kNow),
            "done");
  EXPECT_EQ(StateOfBoot(BootOf("worker", absl::Hours(1), {{v1::BOOT_PHASE_NO_IMAGE, 0}}), kNow),
            "no image");
  EXPECT_EQ(StateOfBoot(v1::Boot(), kNow), "-");
}

}  // namespace
}  // namespace muster::cli
