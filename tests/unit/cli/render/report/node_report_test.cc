#include "cli/render/report/node_report.h"

#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

const absl::Time kHeldNow = absl::FromUnixSeconds(1'700'000'000);

v1::NodeHold Hold(const std::string& owner, const std::string& reason, absl::Duration age) {
  v1::NodeHold hold;
  hold.set_owner(owner);
  hold.set_reason(reason);
  *hold.mutable_since() = ToTimestamp(kHeldNow - age);
  return hold;
}

TEST(NodeReport, AHoldHasOwnerAgeAndReason) {
  EXPECT_EQ(DescribeHold(Hold("admin:ann", "bad\x1b[31m fan", absl::Hours(2)), kHeldNow),
            "admin:ann, 2h 00m ago: bad fan");
}

TEST(NodeReport, ADrainSaysWhetherSlurmKnows) {
  v1::DrainNodesResponse response;
  response.add_nodes("c001");
  EXPECT_EQ(RenderDrained(response),
            "c001 is kept out of Slurm until `muster node resume`; its jobs end by themselves\n");
  response.add_nodes("c002");
  response.set_trouble("slurmctld does not answer");
  EXPECT_EQ(RenderDrained(response),
            "c[001-002] are kept out of Slurm until `muster node resume`; their jobs end by "
            "themselves\n"
            "Slurm has not been told yet: slurmctld does not answer\n");
}

TEST(NodeReport, AResumeSaysWhatStillKeepsNodesOut) {
  v1::ResumeNodesResponse response;
  for (const char* name : {"c001", "c002", "c003", "c004"}) {
    v1::Node& node = *response.add_nodes();
    node.set_name(name);
    node.set_service("in service");
  }
  response.mutable_nodes(2)->set_service("not validated");
  *response.mutable_nodes(2)->add_holds() = Hold("u-7k3m9q2x", "being updated", absl::Minutes(5));
  response.mutable_nodes(3)->clear_service();
  EXPECT_EQ(RenderResumed(response, kHeldNow),
            "NODES       SERVICE        STILL HELD BY\n"
            "c[001-002]  in service\n"
            "c004        not in Slurm\n"
            "c003        not validated  u-7k3m9q2x, 5m 00s ago: being updated\n");
}

TEST(NodeReport, RebootsThatWerePutOffAreFoldedBelowTheirCommand) {
  EXPECT_EQ(RenderPendingReboots({}), "");
  EXPECT_EQ(RenderPendingReboots({{"c001", "new driver"},
                                  {"c003", "kernel 2 is\x1b[31m installed"},
                                  {"c002", "new driver"}}),
            "to reboot, when it suits: muster node reboot 'c[001-003]' --when-idle\n"
            "  c003: kernel 2 is installed\n"
            "  c[001-002]: new driver\n");
}

}  // namespace
}  // namespace muster::cli
