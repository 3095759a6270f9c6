// The roles people, sssd and container_runtime: the groups of the inventory, the accounts of a
// directory, and ids in containers.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

constexpr char kPeople[] = R"(
- play: p
  hosts: all
  roles:
    - {role: sssd, when: sssd_uris}
    - {role: people, needs: [sssd]}
    - container_runtime
)";

constexpr char kGroups[] = "/etc/muster-node/people-groups";

class PeopleTest : public RolesFixture {
 protected:
  PeopleTest() : RolesFixture(kPeople, {"people", "sssd", "container_runtime"}) {
    Set(R"({"cluster_groups": [{"name": "people", "gid": 2000}, {"name": "admins", "gid": 2001}],
            "cluster_users": [{"name": "ann", "uid": 2001, "group": "people"},
                              {"name": "boss", "uid": 2002, "group": "people", "groups": "admins"}]})");
  }
  void SetDirectory() {
    Set(R"({"sssd_uris": ["ldaps://ldap1.example"], "sssd_base": "dc=example,dc=org",
            "sssd_allowed_groups": ["hpc"]})");
  }
  void InstallGroups(const StandInNode& node) {
    for (const char* path : {kGroups, "/usr/local/lib/muster/people-groups"})
      node.Install(path, File("c001", path).content());
  }
  std::string SssdConf() { return File("c001", "/etc/sssd/sssd.conf").content(); }
};

TEST_F(PeopleTest, AGroupThatIsTakenFromAPersonGoesFromTheNodes) {
  const v1::CommandResource command = Step("c001", "groups that people have left").command();
  StandInNode node("people", {"/etc/", "/usr/local/lib"});
  InstallGroups(node);
  node.Program("gpasswd",
               R"([[ $1 == -d ]] || exit 2
                  sed -i -E "/^$3:/{s/\b$2\b//;s/,,/,/;s/:,/:/;s/,$//}" "${0%/bin/*}/etc/group")");
  node.Write("/etc/group", "people:x:2000:\nadmins:x:2001:boss,root\ndocker:x:999:ann\n");
  EXPECT_EQ(node.Run(command.unless()), 0) << node.output();

  node.Write("/etc/group", "people:x:2000:boss\nadmins:x:2001:ann,boss,root\ndocker:x:999:ann\n");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_THAT(node.output(), HasSubstr("ann is no longer in admins\n"));
  EXPECT_EQ(node.Read("/etc/group"),
            "people:x:2000:boss\nadmins:x:2001:boss,root\ndocker:x:999:ann\n");
  EXPECT_EQ(node.Run(command.unless()), 0) << node.output();
}

// They do not fit into one argument of a program.
TEST_F(PeopleTest, ManyPeopleLeaveAGroup) {
  EXPECT_EQ(File("c001", kGroups).content(),
            "# Written by Muster; changes made here are lost.\ngroup people\ngroup admins\n"
            "person ann people\nperson boss people,admins\n");
  const v1::CommandResource command = Step("c001", "groups that people have left").command();
  StandInNode node("many", {"/etc/", "/usr/local/lib"});
  InstallGroups(node);
  std::string people = "group people\ngroup admins\n", members;
  for (int i = 0; i < 6000; ++i) {
    absl::StrAppend(&people, "person person-with-a-long-name-", i, " people\n");
    absl::StrAppend(&members, i == 0 ? "" : ",", "person-with-a-long-name-", i);
  }
  node.Write(kGroups, people);
  node.Write("/etc/group", absl::StrCat("people:x:2000:", members, "\n"));
  EXPECT_EQ(node.Run(command.unless()), 0) << node.output();
  node.Write("/etc/group", absl::StrCat("admins:x:2001:", members, "\n"));
  EXPECT_NE(node.Run(command.unless()), 0);
}

TEST_F(PeopleTest, WithoutPeopleNobodyLeavesAGroup) {
  Set(R"({"cluster_users": []})");
  const v1::CommandResource command = Step("c001", "groups that people have left").command();
  StandInNode node("nobody", {"/etc/", "/usr/local/lib"});
  InstallGroups(node);
  node.Write("/etc/group", "admins:x:2001:ann\n");
  EXPECT_EQ(node.Run(command.unless()), 0) << node.output();
}

// `simple` knows groups alone, and sshd asks no password of a key.
TEST_F(PeopleTest, ADisabledAccountOfTheDirectoryStaysOut) {
  SetDirectory();
  EXPECT_THAT(SssdConf(), AllOf(Not(HasSubstr("expire")), Not(HasSubstr("user_search_base"))));
  Set(R"({"sssd_schema": "ad"})");
  EXPECT_THAT(SssdConf(), AllOf(HasSubstr("\naccess_provider = simple\n"),
                                HasSubstr("\nldap_user_search_base = dc=example,dc=org?subtree?"
                                          "(!(userAccountControl:1.2.840.113556.1.4.803:=2))\n")));
  // The site has a filter of its own.
  Set(R"json({"sssd_base": "dc=example,dc=org?subtree?(a=b)"})json");
  EXPECT_THAT(SssdConf(), Not(HasSubstr("user_search_base")));

  Set(R"json({"sssd_base": "dc=example,dc=org", "sssd_allowed_groups": [],
              "sssd_access_filter": "(objectClass=*)"})json");
  const struct {
    const char *schema, *policy;
  } kCases[] = {{"ad", "ad"}, {"ipa", "ipa"}, {"rfc2307", "shadow"}, {"rfc2307bis", "shadow"}};
  for (const auto& c : kCases) {
    options_.extra_vars["sssd_schema"] = c.schema;
    EXPECT_THAT(SssdConf(),
                AllOf(HasSubstr("\nldap_access_order = filter, expire\n"),
                      HasSubstr(absl::StrCat("\nldap_account_expire_policy = ", c.policy, "\n")),
                      Not(HasSubstr("user_search_base"))));
  }
}

// Its account of the same name would come in as them.
TEST_F(PeopleTest, TheDirectoryHasNothingToSayOfPeopleOfTheInventory) {
  SetDirectory();
  EXPECT_THAT(SssdConf(), HasSubstr("\nfilter_users = root,slurm,munge,ann,boss\n"));
}

TEST_F(PeopleTest, AProfileOfAuthselectThatTheSiteMadeStays) {
  SetDirectory();
  GiveOs("rocky", "9.4");
  const v1::CommandResource command =
      Step("c001", "users, groups and logins of the directory").command();
  StandInNode node("authselect", {"/etc/"});
  node.Program("authselect", R"(
case $1 in
  current) cat "${0%/bin/*}/profile" 2>/dev/null ;;
  select) echo "$2" >"${0%/bin/*}/profile" ;;
esac)");
  for (const char* file : {"/etc/nsswitch.conf", "/etc/pam.d/system-auth"}) node.Write(file, "");
  node.Write("/profile", "minimal\n");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_EQ(node.Read("/profile"), "sssd\n");
  EXPECT_EQ(node.Run(command.unless()), 0);
  node.Write("/profile", "sssd with-mkhomedir with-sudo\n");
  EXPECT_EQ(node.Run(command.unless()), 0);

  node.Write("/profile", "custom/site with-mkhomedir\n");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(), HasSubstr("custom/site"));
  EXPECT_EQ(node.Read("/profile"), "custom/site with-mkhomedir\n");
  // One that asks sssd serves.
  node.Write("/etc/nsswitch.conf", "passwd: files sss systemd\ngroup: files sss\n");
  for (const char* file : {"/etc/pam.d/system-auth", "/etc/pam.d/password-auth"})
    node.Write(file, "account sufficient pam_sss.so\n");
  EXPECT_EQ(node.Run(command.unless()), 0);
}

TEST_F(PeopleTest, UsersOfADirectoryHaveTheIdsInContainersThatTheSiteGivesThem) {
  Set(R"({"container_runtimes": ["podman"],
          "container_extra_subids": [{"name": "zoe", "start": 3000000000}]})");
  for (const char* path : {"/etc/subuid", "/etc/subgid"})
    EXPECT_EQ(File("c001", path).content(),
              "ann:131137536:65536\nboss:131203072:65536\nzoe:3000000000:65536\n");
  for (const char* ids : {
           R"([{"name": "z:oe", "start": 3000000000}])",
           R"([{"name": "zoe", "start": "many"}])",
           R"([{"name": "zoe", "start": 1000}])",
           R"([{"name": "zoe", "start": 4294901759}])",
           R"([{"name": "zoe", "start": 131137537}])",
           R"([{"name": "zoe", "start": 3000000000}, {"name": "max", "start": 3000065535}])",
       }) {
    SCOPED_TRACE(ids);
    Set(absl::StrCat("{\"container_extra_subids\": ", ids, "}"));
    EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  // Where ids of Active Directory end.
  Set(R"({"sssd_id_mapping": true,
          "container_extra_subids": [{"name": "zoe", "start": 2000000000}]})");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// Slurm hands it the variable of a session on a login node.
TEST_F(PeopleTest, PodmanForJobsGoesWithPodman) {
  Set(R"({"container_runtimes": []})");
  const v1::CommandResource command = Step("c001", "no podman for jobs").command();
  StandInNode node("no-podman", {"/usr/"});
  EXPECT_EQ(node.Run(command.unless()), 0) << "nothing is there";
  node.Install("/usr/local/bin/podman", "#!/bin/bash\n");
  EXPECT_EQ(node.Run(command.unless()), 0) << "one of the site's own";
  const std::vector<std::string> link = {"ln", "-sf", "/usr/local/lib/muster/podman",
                                         "/usr/local/bin/podman"};
  EXPECT_EQ(node.Run(link), 0);
  EXPECT_NE(node.Run(command.unless()), 0);
}

TEST_F(PeopleTest, PodmanInAJobNeedsNoFolderOfALogin) {
  Set(R"({"container_runtimes": ["podman"]})");
  constexpr char kPodman[] = "/usr/local/lib/muster/podman";
  StandInNode node("podman", {"/usr/", "/run/"});
  node.Install(kPodman, File("c001", kPodman).content());
  node.Install("/usr/bin/podman", "#!/bin/bash\necho \"${XDG_RUNTIME_DIR-none} $*\"\n");
  const std::vector<std::string> argv = {
      "env", "XDG_RUNTIME_DIR=/run/user/7", "bash", kPodman, "run", "a b"};
  EXPECT_EQ(node.Run(argv), 0);
  EXPECT_EQ(node.output(), "none run a b\n");
  node.Write("/run/user/7/bus", "");
  EXPECT_EQ(node.Run(argv), 0);
  EXPECT_EQ(node.output(), absl::StrCat(node.root(), "/run/user/7 run a b\n"));
}

}  // namespace
}  // namespace muster::controller
