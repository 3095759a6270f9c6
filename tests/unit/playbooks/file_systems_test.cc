// The file systems that a cluster serves and mounts.
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/site_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
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
  for (const char* daemon : {"mgmtd", "meta", "storage"})
    EXPECT_THAT(Content(plans, absl::StrCat("/etc/beegfs/beegfs-", daemon, ".conf")),
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

// A set undoes the mount at the old place.
TEST_F(FileSystemClientsTest, BeegfsIsMountedAtOnePlace) {
  for (const char* place : {"/beegfs", "/work"}) {
    Set(absl::StrCat("{\"beegfs_mount\": \"", place, "\"}"));
    const v1::Step step = Step("c001", absl::StrCat("BeeGFS is mounted at ", place));
    EXPECT_EQ(step.mounts().name(), "beegfs_client");
    ASSERT_EQ(step.mounts().mounts_size(), 1);
    EXPECT_EQ(step.mounts().mounts(0).path(), place);
  }
}

class BeegfsSecretTest : public RolesFixture {
 protected:
  BeegfsSecretTest()
      : RolesFixture("- play: p\n  hosts: all\n  roles: [beegfs, beegfs_client]\n",
                     {"beegfs", "beegfs_client"}) {
    Set(R"({"beegfs_mount": "/beegfs"})");
  }
  void UseHost(const std::string& host) {
    Set(absl::StrCat("{\"beegfs_management_host\": \"", host, "\"}"));
  }

  static constexpr char kSecret[] = "/etc/beegfs/conn.auth";
  static constexpr char kClient[] = "/etc/beegfs/beegfs-client.conf";
};

// Clients got a secret that the servers do not know, and could not mount after their next boot.
TEST_F(BeegfsSecretTest, ServersOfOthersHaveASecretAlready) {
  UseInventory(
      "cluster: x\ndomain: hpc.example\nnodes: {login1: {role: login, address: 10.0.0.1}, c001: "
      "{role: compute, address: 10.0.0.11}}\n");
  for (const char* host : {"nas.hpc.example", "login1.other.example", "10.0.0.9", "nas"}) {
    SCOPED_TRACE(host);
    UseHost(host);
    EXPECT_EQ(Compile("c001").error.code(), absl::StatusCode::kNotFound);
  }
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_TRUE(secrets_.secrets.empty());
  secrets_.secrets["beegfs_connection"] = "THEIRS";  // also one that an earlier Muster has made
  EXPECT_EQ(File("c001", kSecret).content(), "THEIRS");
  for (const char* host : {"login1", "login1.hpc.example", "10.0.0.1"}) {
    SCOPED_TRACE(host);
    UseHost(host);
    EXPECT_EQ(File("c001", kSecret).content(), "THEIRS");
    secrets_.secrets.clear();
    EXPECT_EQ(File("c001", kSecret).content(), std::string(128, 'x'));
    secrets_.secrets["beegfs_connection"] = "THEIRS";
  }
}

TEST_F(BeegfsSecretTest, ServersOfOthersMayHaveNone) {
  UseHost("nas");
  Set(R"({"beegfs_connection_auth": false})");
  EXPECT_NE(Step("c001", "connection secret").skip_reason(), "");
  EXPECT_THAT(File("c001", kClient).content(),
              HasSubstr("\nconnAuthFile = \nconnDisableAuthentication = true\n"));
  // Those of the inventory ask for it.
  Set(R"({"beegfs_disks": [{"service": "storage", "path": "/data"}]})");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Set(R"({"beegfs_disks": []})");
  UseHost("login1");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Set(R"({"beegfs_connection_auth": true})");
  EXPECT_THAT(File("c001", kClient).content(),
              HasSubstr("\nconnAuthFile = /etc/beegfs/conn.auth\nconnDisableAuthentication = "
                        "false\n"));
}

class FileServersTest : public RolesFixture {
 protected:
  FileServersTest()
      : RolesFixture("- play: p\n  hosts: login\n  roles: [beegfs_server, nfs_server]\n",
                     {"beegfs_server", "nfs_server"}),
        node_("file-servers", {"/data", "/etc/", "/opt/", "/usr/local", "/var/lib"}) {
    Set(R"({"beegfs_management_host": "login1", "beegfs_disks": [
              {"service": "metadata", "path": "/data/meta"},
              {"service": "storage", "path": "/data/t1"},
              {"service": "storage", "path": "/data/t2"}]})");
    node_.Install(kStore, File("login1", kStore).content());
  }
  // Its configuration on the node; the paths are the node's.
  void Configure(const std::string& file, const std::string& text) {
    node_.Install("/etc/beegfs/" + file, text);
  }
  int RunStep(const std::string& name) { return node_.Run(Step("login1", name).command().argv()); }

  static constexpr char kStore[] = "/usr/local/lib/muster/beegfs-store";
  static constexpr char kMetadata[] = "the store of the metadata stays, or has come along";
  static constexpr char kStorage[] = "the stores of the storage stay, or have come along";
  StandInNode node_;
};

TEST_F(FileServersTest, ADaemonDoesNotLeaveItsStoreForAnEmptyOne) {
  EXPECT_EQ(RunStep(kMetadata), 0);
  Configure("beegfs-meta.conf", "# storeMetaDirectory = /x\nstoreMetaDirectory=/data/old/ \n");
  EXPECT_EQ(RunStep(kMetadata), 0) << "there is nothing to lose";
  node_.Write("/data/old/format.conf", "version=3\n");
  EXPECT_EQ(RunStep(kMetadata), 1);
  // The role has made the folder.
  const std::string place = node_.root() + "/data/meta/beegfs_metadata";
  std::filesystem::create_directories(place);
  EXPECT_EQ(RunStep(kMetadata), 1);
  EXPECT_THAT(node_.output(), HasSubstr(absl::StrCat("(`rmdir ", place, " && mv -T ", node_.root(),
                                                     "/data/old ", place, "`)")));
  node_.Write("/data/meta/beegfs_metadata/old/format.conf", "version=3\n");
  EXPECT_EQ(RunStep(kMetadata), 1) << "a store below the place is not in it";
  EXPECT_THAT(node_.output(), HasSubstr("is not a store of beegfs-meta"));
  std::filesystem::remove_all(place + "/old");
  std::filesystem::remove(place);
  std::filesystem::rename(node_.root() + "/data/old", place);
  EXPECT_TRUE(node_.Exists("/data/meta/beegfs_metadata/format.conf"));
  EXPECT_EQ(RunStep(kMetadata), 0) << "it is there";
  std::filesystem::remove_all(node_.root() + "/data/meta");
  Configure("beegfs-meta.conf", "storeMetaDirectory = /data/meta/beegfs_metadata\n");
  EXPECT_EQ(RunStep(kMetadata), 0) << "nothing changes";

  Configure("beegfs-mgmtd.toml", "db-file = \"/var/lib/beegfs/mgmtd.sqlite\"\n");
  node_.Write("/var/lib/beegfs/mgmtd.sqlite", "x");
  Set(R"({"beegfs_version": "8"})");
  EXPECT_EQ(RunStep("the database of the management stays, or has come along"), 1);
  node_.Write("/var/lib/beegfs_management/mgmtd.sqlite", "x");
  EXPECT_EQ(RunStep("the database of the management stays, or has come along"), 0);
}

// Disks that are added, and drained ones that are taken out.
TEST_F(FileServersTest, StorageChangesItsDisksOneWayAtATime) {
  node_.Write("/data/t1/beegfs_storage/format.conf", "x");
  node_.Write("/data/t3/beegfs_storage/format.conf", "x");
  Configure("beegfs-storage.conf", "storeStorageDirectory = /data/t1/beegfs_storage\n");
  EXPECT_EQ(RunStep(kStorage), 0) << "one more";
  Configure("beegfs-storage.conf",
            "storeStorageDirectory = /data/t1/beegfs_storage, /data/t3/beegfs_storage\n");
  EXPECT_EQ(RunStep(kStorage), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("mv -T "), HasSubstr("/data/t3/beegfs_storage "),
                    HasSubstr("/data/t2/beegfs_storage`"), Not(HasSubstr("/data/t1"))));
  node_.Write("/data/t2/beegfs_storage/format.conf", "x");
  EXPECT_EQ(RunStep(kStorage), 0) << "one less";
}

TEST_F(FileServersTest, TheSeriesIsChangedByHand) {
  node_.Program("dpkg-query", "[[ $4 == beegfs-meta ]] && echo 'installed 20:7.4.6'");
  EXPECT_EQ(RunStep("series of the installed packages"), 0);
  Set(R"({"beegfs_version": "8"})");
  EXPECT_EQ(RunStep("series of the installed packages"), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("beegfs-meta 7.4.6 is installed"), HasSubstr("--import-from-v7")));
  node_.Program("dpkg-query", "[[ $4 == beegfs-meta ]] && echo 'config-files 20:7.4.6'");
  EXPECT_EQ(RunStep("series of the installed packages"), 0) << "it was removed";
  // Series 7 has nothing to import; EL may have a dpkg-query, which knows no packages.
  Set(R"({"beegfs_version": "7.4"})");
  GiveOs("rocky", "9.4");
  node_.Program("dpkg-query", "exit 1");
  node_.Program("rpm", "[[ $4 == beegfs-meta ]] && echo 7.2.15");
  EXPECT_EQ(RunStep("series of the installed packages"), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("beegfs-meta 7.2.15 is installed"), Not(HasSubstr("import"))));
  GiveOs("debian", "12");
  Set(R"({"beegfs_version": "8"})");

  // The new management would begin an empty database beside the data of the old one.
  node_.Write("/opt/beegfs/sbin/beegfs-mgmtd", "#!/bin/bash\n[[ $1 == --init ]]\n");
  node_.Write("/var/lib/beegfs_management/format.conf", "version=5\n");
  EXPECT_EQ(RunStep("database of the management"), 1);
  EXPECT_THAT(node_.output(), HasSubstr("beegfs-mgmtd --import-from-v7"));
  std::filesystem::remove(node_.root() + "/var/lib/beegfs_management/format.conf");
  EXPECT_EQ(RunStep("database of the management"), 0);
}

// exports(5) would let everybody mount it.
TEST_F(FileServersTest, AnExportHasClients) {
  Set(R"({"nfs_exports": [{"path": "/srv/all"}, {"path": "/srv/nobody", "clients": []}]})");
  EXPECT_THAT(Compile("login1").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Set(R"({"nfs_exports": [{"path": "/srv/all"}, {"path": "/srv/one", "clients": "c001"}]})");
  EXPECT_OK(Compile("login1").error);
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
