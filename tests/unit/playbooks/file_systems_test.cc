// The file systems that a cluster serves and mounts.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/site_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SiteTest, BeegfsIsServedAndMounted) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  auto plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the management runs", /*skipped=*/false), 1);
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the metadata runs", /*skipped=*/false), 2);
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the storage runs", /*skipped=*/false), 2);
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-storage.conf"),
              HasSubstr("\nstoreStorageDirectory = /data/target1/beegfs_storage\n"));
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-mgmtd.conf"),
              HasSubstr("\nquotaEnableEnforcement = true\n"));
  EXPECT_EQ(CountSteps(plans, "beegfs_client", "BeeGFS is mounted at /home", /*skipped=*/false),
            17);
  // Quota is a variable of the servers.
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-client.conf"),
              AllOf(HasSubstr("\nsysMgmtdHost = storage1\n"), HasSubstr("\nquotaEnabled = true\n"),
                    HasSubstr("\nconnMgmtdPortTCP = 8008\n")));
  EXPECT_EQ(CountSteps(plans, "local_scratch", "scratch disk", /*skipped=*/false), 16);

  options_.extra_vars["beegfs_version"] = "8";
  options_.extra_vars["beegfs_tls_certificate"] = "CERTIFICATE";
  options_.extra_vars["beegfs_license"] = "LICENCE";
  plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-mgmtd.toml"),
              AllOf(HasSubstr("\ntls-cert-file = "), HasSubstr("\nlicense-cert-file = "),
                    HasSubstr("\nquota-enforce = true\n")));
  EXPECT_EQ(Content(plans, "/etc/beegfs/beegfs-mgmtd.conf"), "");
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-client.conf"),
              AllOf(HasSubstr("\nconnMgmtdPort = 8008\n"), Not(HasSubstr("Helperd"))));
  EXPECT_EQ(CountSteps(plans, "beegfs_client", "the helper runs", /*skipped=*/true), 17);
}

// Images for clouds boot kernels of a flavour of their own.
TEST_F(SiteTest, ModulesOfFileSystemsAreBuiltForTheRunningKernel) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars = nlohmann::ordered_json::parse(
      R"({"lustre_mounts": [{"source": "10.0.0.5@tcp:/a", "path": "/a"}], "slurm_prolog": true,
          "lustre_repository": {"uris": ["http://mirror.example"]}, "beeond_path": "/scratch"})");
  for (const Node& node : inventory_.nodes()) {
    facts_[node.name]["os"]["package_architecture"] = "amd64";
    facts_[node.name]["os"]["kernel"] = "6.1.0-44-cloud-amd64";
  }
  std::set<std::string> seen;
  for (const v1::Plan& plan : CompileAll())
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& step : role.steps())
        if (step.name() == "headers of the kernel")
          seen.insert(absl::StrCat(role.name(), ": ", absl::StrJoin(step.package().names(), " ")));
  constexpr char kHeaders[] = ": linux-headers-cloud-amd64 linux-headers-6.1.0-44-cloud-amd64";
  EXPECT_THAT(seen,
              ElementsAre(absl::StrCat("beegfs_client", kHeaders), absl::StrCat("beeond", kHeaders),
                          absl::StrCat("lustre_client", kHeaders)));
}

class FileSystemClientsTest : public RolesFixture {
 protected:
  FileSystemClientsTest()
      : RolesFixture("- play: p\n  hosts: compute\n  roles: [beegfs_client, beeond, nfs_client]\n",
                     {"beegfs_client", "beeond", "nfs_client"}) {
    Set(R"({"beegfs_management_host": "nas", "beegfs_mount": "/beegfs", "beeond_path": "/scratch",
            "slurm_prolog": true})");
  }
};

// Kernels with pages of 64 KiB, for real time, and of Ubuntu's later series have packages of their
// own.
TEST_F(FileSystemClientsTest, HeadersOfTheKernelsFlavour) {
  const struct {
    const char *os, *version, *kernel, *headers;
  } kCases[] = {
      {"rocky", "9.6", "5.14.0-570.el9.x86_64", "kernel-devel kernel-devel-5.14.0-570.el9"},
      {"rocky", "9.6", "5.14.0-570.el9.aarch64+64k",
       "kernel-64k-devel kernel-64k-devel-5.14.0-570.el9"},
      {"rocky", "9.6", "5.14.0-570.el9.x86_64+rt",
       "kernel-rt-devel kernel-rt-devel-5.14.0-570.el9"},
      {"ubuntu", "22.04", "6.8.0-60-generic",
       "linux-headers-generic-hwe-22.04 linux-headers-6.8.0-60-generic"},
      {"ubuntu", "24.04", "6.8.0-60-generic",
       "linux-headers-generic linux-headers-6.8.0-60-generic"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version, " ", c.kernel));
    GiveOs(c.os, c.version);
    facts_["c001"]["os"]["kernel"] = c.kernel;
    const NodePlan plan = Compile("c001");
    ASSERT_OK(plan.error);
    std::set<std::string> seen;
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps())
        if (step.name() == "headers of the kernel")
          seen.insert(absl::StrCat(role.name(), ": ", absl::StrJoin(step.package().names(), " ")));
    EXPECT_THAT(seen, ElementsAre(absl::StrCat("beegfs_client: ", c.headers),
                                  absl::StrCat("beeond: ", c.headers)));
  }
}

// sshd could not read the keys there.
TEST_F(FileSystemClientsTest, SelinuxKnowsOfHomesOnNfs) {
  constexpr char kStep[] = "homes on NFS for SELinux";
  GiveOs("rocky", "9.4");
  EXPECT_NE(Step("c001", kStep).skip_reason(), "");
  Set(R"({"data_mounts": [{"source": "nas:/home", "path": "/homes"}]})");
  EXPECT_NE(Step("c001", kStep).skip_reason(), "");
  Set(R"({"data_mounts": [{"source": "nas:/home", "path": "/home"}]})");
  EXPECT_EQ(Step("c001", kStep).skip_reason(), "");
  Set(R"({"data_mounts": [], "nfs_homes": "nas:/home"})");
  const v1::CommandResource command = Step("c001", kStep).command();
  StandInNode node("nfs-homes", {});
  node.Program("selinuxenabled", "exit 1");
  EXPECT_EQ(node.Run(command.unless()), 0);
  node.Program("selinuxenabled", "exit 0");
  node.Program("getsebool", "echo 'use_nfs_home_dirs --> off'");
  EXPECT_NE(node.Run(command.unless()), 0);
  node.Program("getsebool", "echo 'use_nfs_home_dirs --> on'");
  EXPECT_EQ(node.Run(command.unless()), 0);
  GiveOs("debian", "12");
  EXPECT_NE(Step("c001", kStep).skip_reason(), "");
}

// YAML makes numbers of what has no quotes.
TEST_F(SiteTest, BeegfsIsOfASeriesHoweverItsVersionIsWritten) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  for (const nlohmann::ordered_json& version :
       std::initializer_list<nlohmann::ordered_json>{"7.4", 7.4, "7.4.6", "8", 8, "8.1.0"}) {
    SCOPED_TRACE(version.dump());
    options_.extra_vars["beegfs_version"] = version;
    const bool is_8 = version.dump().find('8') != std::string::npos;
    EXPECT_EQ(CountSteps(CompileAll(), "beegfs_client", "the helper runs", /*skipped=*/is_8), 17);
  }
}

TEST_F(SiteTest, FoldersAreExportedAndMounted) {
  UseCluster("slices-testbed");
  GiveFacts("12", "none", 4);
  auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/exports.d/muster.exports"),
              HasSubstr("\n/srv/share 10.2.0.1(rw,no_subtree_check) 10.2.0.11(rw,"));
  EXPECT_EQ(CountSteps(plans, "nfs_server", "no exports", /*skipped=*/false), 0);
  EXPECT_THAT(Mounts(plans), ElementsAre("/srv/share at /share as none with bind",
                                         "login1:/srv/share at /share as nfs4 with hard"));
  UseCluster("lrz-dgx");
  facts_.clear();
  GiveFacts("12", "none", 8);
  plans = CompileAll();
  EXPECT_THAT(Mounts(plans), ElementsAre("nas.ai.lrz.example:/dss at /dss as nfs with hard"));
  // A list that is emptied is still a set, which unmounts; what was exported is so no more.
  options_.extra_vars["data_mounts"] = nlohmann::ordered_json::array();
  plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "nfs_client", "mounts", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "lustre_client", "mounts", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "nfs_server", "no exports", /*skipped=*/false), 1);
}

}  // namespace
}  // namespace muster::controller
