// The questions to people before something is lost.
#include "cli/render/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "muster/v1/inventory.pb.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Root's job 4, and jobs of unknown owners.
v1::ListNodeJobsResponse JobsOn(const std::string& node, const std::vector<std::string>& others) {
  v1::ListNodeJobsResponse jobs;
  v1::NodeJobs& one = *jobs.add_nodes();
  one.set_node(node);
  v1::SlurmJobInfo& job = *one.add_jobs();
  job.set_id("4");
  job.set_user("root");
  job.set_name("s3");
  for (const std::string& id : others) one.add_jobs()->set_id(id);
  return jobs;
}

v1::Node NodeNamed(const std::string& name, const std::string& role, const std::string& service) {
  v1::Node node;
  node.set_name(name);
  node.set_role(role);
  node.set_service(service);
  node.set_connected(true);
  return node;
}

TEST(Questions, AnApplyNamesClusterNodesAndTheJobsThatDie) {
  v1::PreviewRunResponse preview;
  preview.set_cluster("lab");
  for (const char* node : {"c001", "c002", "login1"}) preview.add_nodes(node);
  EXPECT_EQ(ApplyQuestion("playbooks/site.yaml", preview, nullptr),
            "Apply playbooks/site.yaml to 3 nodes of cluster lab, c[001-002],login1?");
  const v1::ListNodeJobsResponse jobs = JobsOn("c002", {"7_1"});
  EXPECT_EQ(ApplyQuestion("this plan", preview, &jobs),
            "  c002: jobs 4 (root, s3) and 7_1 die if it reboots\n"
            "Apply this plan to 3 nodes of cluster lab, c[001-002],login1?");
  v1::ListNodeJobsResponse unknown;
  unknown.set_unknown("slurmctld does not answer");
  EXPECT_THAT(ApplyQuestion("this plan", preview, &unknown),
              HasSubstr("unknown which jobs a reboot would end: slurmctld does not"));
}

TEST(Questions, ARemovalSaysWhatTheNodesAreAndWhatIsLeftToDo) {
  const std::vector<v1::Node> nodes = {NodeNamed("c001", "compute", "in service"),
                                       NodeNamed("c009", "", "")};
  const auto question = [&](JobsOnNodes fate) {
    return RemovalQuestion("Remove $0 from cluster $1?", "lab", nodes, JobsOn("c001", {}), fate);
  };
  const std::string begin =
      "  c001: connected; in the inventory; in Slurm: in service; job 4 (root, s3) runs on it";
  const std::string end =
      "\n  c009: connected; not in the inventory\nRemove 2 nodes, c[001,009], from cluster lab?";
  EXPECT_EQ(question(JobsOnNodes::kStay), absl::StrCat(begin, end));
  EXPECT_EQ(question(JobsOnNodes::kEnd), absl::StrCat(begin, " and is NOT waited for", end));
  EXPECT_EQ(
      question(JobsOnNodes::kWaitedFor),
      absl::StrCat(begin, ", whose time limit is not known or unlimited, and is waited for", end));
  EXPECT_THAT(AfterRemoval(nodes),
              AllOf(HasSubstr("still names c001:"), HasSubstr("muster inventory apply"),
                    HasSubstr("muster apply playbooks/site.yaml")));
  EXPECT_EQ(AfterRemoval({nodes[1]}), "");
}

TEST(Questions, JobsOfANodeThatIsAwayAreNotWaitedFor) {
  std::vector<v1::Node> nodes = {NodeNamed("c001", "compute", "in service")};
  nodes[0].set_connected(false);
  EXPECT_THAT(RemovalQuestion("Remove $0 from $1?", "lab", nodes, JobsOn("c001", {"5"}),
                              JobsOnNodes::kWaitedFor),
              HasSubstr("jobs 4 (root, s3) and 5 run on it and are NOT waited for"));
}

TEST(Questions, ARenameSaysWhatToDoInstead) {
  EXPECT_THAT(RenameInstead("c001", "gpu01"),
              AllOf(HasSubstr("muster node remove c001\n"), HasSubstr("muster node add gpu01 ")));
}

TEST(Questions, AnInventoryIsAskedForOnlyWhereItRenamesOrDrops) {
  v1::DiffInventoryResponse diff;
  diff.set_cluster_after("lab");
  EXPECT_EQ(InventoryQuestion(diff), "");  // the first one names the cluster
  diff.set_cluster_before("lab");
  EXPECT_EQ(InventoryQuestion(diff), "");
  diff.add_dropped_nodes("c003");
  EXPECT_EQ(InventoryQuestion(diff), "Drop 1 node, c003, from the inventory of cluster lab?");
  diff.set_cluster_after("prod");
  const std::string of_slurm = "accounting keeps earlier records under lab\n";
  EXPECT_THAT(InventoryQuestion(diff),
              HasSubstr(of_slurm + "Rename cluster lab to prod and drop 1 node, c003?"));
  diff.clear_dropped_nodes();
  EXPECT_THAT(InventoryQuestion(diff), HasSubstr(of_slurm + "Rename cluster lab to prod?"));
}

TEST(Questions, ADroppedNodeThatIsStillAMemberIsNamed) {
  v1::ApplyInventoryResponse response;
  EXPECT_EQ(AfterInventory(response), "");
  response.add_dropped_members("c003");
  EXPECT_THAT(AfterInventory(response),
              AllOf(HasSubstr("c003 is no longer in the inventory but still a member"),
                    HasSubstr("muster node remove c003"), Not(HasSubstr("are"))));
}

TEST(Questions, AClusterThatTheControllerCallsOtherwiseIsNamed) {
  v1::ApplyInventoryResponse response;
  response.set_controller_cluster("hpc");
  response.set_inventory_cluster("hpc1");
  EXPECT_THAT(AfterInventory(response),
              AllOf(HasSubstr("cluster is hpc1,"), HasSubstr("controller.yaml hpc:")));
}

}  // namespace
}  // namespace muster::cli
