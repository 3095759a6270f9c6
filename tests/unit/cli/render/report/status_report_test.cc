#include "cli/render/report/status_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kStatusShownAt = absl::FromUnixSeconds(1'900'000'000);

v1::GetStatusResponse Quiet() {
  v1::GetStatusResponse status;
  status.set_cluster("hpc1");
  status.set_controller_version("0.1.0");
  *status.mutable_started_at() = ToTimestamp(kStatusShownAt - absl::Minutes(20));
  status.set_nodes_total(4);
  status.set_nodes_connected(4);
  status.set_inventory_revision(1);
  return status;
}

v1::StatusWork Work(const char* id, const char* what, const char* nodes) {
  v1::StatusWork work;
  work.set_id(id);
  work.set_what(what);
  work.set_nodes(nodes);
  work.set_created_by("admin:alice");
  *work.mutable_created_at() = ToTimestamp(kStatusShownAt - absl::Seconds(40));
  return work;
}

TEST(StatusReport, SaysThatNothingRuns) {
  EXPECT_EQ(RenderStatus(Quiet(), "login1:7443", kStatusShownAt),
            "cluster     hpc1\n"
            "controller  login1:7443, musterd 0.1.0, up 20m 00s\n"
            "nodes       4 known, 4 connected\n"
            "inventory   revision 1\n"
            "running     nothing\n");
}

TEST(StatusReport, NamesNodesThatHaveToReboot) {
  v1::GetStatusResponse status = Quiet();
  EXPECT_THAT(RenderStatus(status, "c", kStatusShownAt), Not(HasSubstr("to reboot")));
  status.add_nodes_to_reboot("c001");
  status.add_nodes_to_reboot("c002");
  EXPECT_THAT(RenderStatus(status, "c", kStatusShownAt), HasSubstr("to reboot   c[001-002] ("));
}

TEST(StatusReport, NamesNetworksThatAreTrusted) {
  v1::GetStatusResponse status = Quiet();
  EXPECT_THAT(RenderStatus(status, "c", kStatusShownAt), Not(HasSubstr("trusted")));
  status.add_trusted_networks("10.0.0.0/24");
  status.add_trusted_networks("10.1.0.0/16");
  EXPECT_THAT(RenderStatus(status, "c", kStatusShownAt),
              HasSubstr("\ntrusted     10.0.0.0/24, 10.1.0.0/16: "));
}

TEST(StatusReport, AValidationThatRunsIsNotNothing) {
  v1::GetStatusResponse status = Quiet();
  *status.add_validations() = Work("v-7k3m9q2x", "acceptance", "c[001-003]");
  const std::string text = RenderStatus(status, "login1:7443", kStatusShownAt);
  EXPECT_THAT(text, HasSubstr("validations v-7k3m9q2x  acceptance on c[001-003], by admin:alice, "
                              "for 40s\n"));
  EXPECT_THAT(text, Not(HasSubstr("nothing")));
}

TEST(StatusReport, NamesRunsThatFailedAndTheirNodes) {
  v1::GetStatusResponse status = Quiet();
  *status.add_runs() = Work("r-1", "playbooks/site.yaml", "c[001-003]");
  status.mutable_runs(0)->set_check_only(true);
  for (const char* id : {"r-2", "r-3"}) {
    *status.add_failed_runs() = Work(id, "playbooks/gpu.yaml", "c002");
    *status.mutable_failed_runs()->rbegin()->mutable_finished_at() =
        ToTimestamp(kStatusShownAt - absl::Hours(2));
  }
  EXPECT_THAT(
      RenderStatus(status, "login1:7443", kStatusShownAt),
      HasSubstr("runs        r-1  playbooks/site.yaml (check) on c[001-003], by "
                "admin:alice, for 40s\n"
                "failed      r-2  playbooks/gpu.yaml on c002, by admin:alice, 2h 00m ago\n"
                "            r-3  playbooks/gpu.yaml on c002, by admin:alice, 2h 00m ago\n"));
}

}  // namespace
}  // namespace muster::cli
