// Two tasks that would fight over one thing.
#include "controller/playbook/compile/owners.h"

#include <ostream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/playbook/compile/plan_builder.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Two tasks of two roles. `fight`: the error about them; empty: they do not conflict.
struct OwnerRow {
  const char* name;
  const char* first;
  const char* second;
  const char* fight;
};

std::ostream& operator<<(std::ostream& out, const OwnerRow& row) { return out << row.name; }

const OwnerRow kOwnerRows[] = {
    {"FilesOfOnePath", "file: {path: /etc/motd, content: a}", "file: {path: /etc/motd, content: b}",
     "a different content of /etc/motd"},
    {"FilesOfOnePathWrittenOtherwise", "file: {path: /etc/motd, content: a}",
     "file: {path: /etc//motd, content: b}", "a different content of /etc/motd"},
    {"EqualFiles", "file: {path: /etc/motd, content: a, mode: \"0644\"}",
     "file: {path: /etc/motd, content: a}", ""},
    {"FilesOfOtherModes", "file: {path: /e, content: a, mode: \"0644\"}",
     "file: {path: /e, content: a, mode: \"0600\", owner: munge}", "a different mode of /e"},
    {"FileThereAndGone", "file: {path: /e, content: a}", "file: {path: /e, state: absent}",
     "a different state of /e"},
    {"FileAndDirectory", "file: {path: /e, content: a}", "directory: {path: /e}",
     "a different type of /e"},
    {"FileAndLink", "file: {path: /e, content: a}", "symlink: {path: /e, target: /f}",
     "a different type of /e"},
    {"FileAndDownload", "file: {path: /e, content: a}",
     "download: {path: /e, urls: [http://a/f], sha256: "
     "abababababababababababababababababababababababababababababababab}",
     "a different content of /e"},
    {"FileAndItsLine", "file: {path: /e, content: a}", "line: {path: /e, line: b}",
     "a different content of /e"},
    {"FileOfOneWordAndItsLine", "file: {path: /e, content: lines}", "line: {path: /e, line: b}",
     "a different content of /e"},
    {"FileOnceAndItsLine", "file: {path: /e, content: a, only_if_missing: true}",
     "line: {path: /e, line: b}", ""},
    {"LinesOfOneFile", "line: {path: /e, key: Port, line: Port 22}",
     "line: {path: /e, key: UsePAM, line: UsePAM yes}", ""},
    {"LinesOfOneKey", "line: {path: /e, key: Port, line: Port 22}",
     "line: {path: /e, key: Port, line: Port 23}", "a different content of line 'Port' of /e"},
    {"LineThereAndGone", "line: {path: /e, line: x}", "line: {path: /e, line: x, state: absent}",
     "a different state of line 'x' of /e"},
    {"FileBelowWhatGoes", "directory: {path: /opt/x, state: absent, recursive: true}",
     "file: {path: /opt/x/y/z, content: a}", "removes /opt/x"},
    {"FileBelowAFile", "file: {path: /opt/x, content: a}", "file: {path: /opt/x/y, content: a}",
     "writes a file to /opt/x"},
    {"FileBesideWhatGoes", "directory: {path: /opt/x, state: absent}",
     "file: {path: /opt/xy, content: a}", ""},
    {"GoneBelowWhatGoes", "directory: {path: /opt/x, state: absent, recursive: true}",
     "file: {path: /opt/x/y, state: absent}", ""},
    {"EqualDirectories", "directory: {path: /d, mode: \"0755\"}",
     "directory: {path: /d, mode: \"0755\"}", ""},
    {"DirectoriesOfOtherOwners", "directory: {path: /d, owner: a}",
     "directory: {path: /d, owner: b}", "a different owner of /d"},
    {"LinksOfOtherTargets", "symlink: {path: /l, target: /a}", "symlink: {path: /l, target: /b}",
     "a different target of /l"},
    {"SetsOfOneDirectory", "files_in: {path: /d, files: [{name: a, content: x}]}",
     "files_in: {path: /d, files: [{name: b, content: x}]}", "a different list of files of /d"},
    {"FileInAPurgedDirectory", "files_in: {path: /d, purge: true, files: [{name: a, content: x}]}",
     "file: {path: /d/b, content: x}", "removes all other files there (purge)"},
    {"FileKeptInAPurgedDirectory",
     "files_in: {path: /d, purge: true, keep: ['b*'], files: [{name: a, content: x}]}",
     "file: {path: /d/b, content: x}", ""},
    {"FileInADirectoryWithASet", "files_in: {path: /d, files: [{name: a, content: x}]}",
     "file: {path: /d/b, content: x}", ""},
    {"FileOfASet", "files_in: {path: /d, files: [{name: a, content: x}]}",
     "file: {path: /d/a, content: y}", "a different content of /d/a"},
    {"PackageTwice", "package: {name: [munge, slurmd]}", "package: {name: munge}", ""},
    {"PackageThereAndGone", "package: {name: [munge, chrony]}",
     "package: {name: chrony, state: absent}", "a different state of package chrony"},
    {"PackageOfTwoVersions", "package: {name: a, version: '1.2*'}",
     "package: {name: a, version: '1.3'}", "a different version of package a"},
    {"PackageOfAVersionAndAny", "package: {name: a, version: '1.2*'}", "package: {name: a}", ""},
    {"PackageLatestAndAny", "package: {name: a, state: latest}", "package: {name: a}", ""},
    {"PackageLatestAndOfAVersion", "package: {name: a, state: latest}",
     "package: {name: a, version: '1.3'}", "a different version of package a"},
    {"PackageHeldAndReleased", "package: {name: a, hold: true}", "package: {name: a, hold: false}",
     "a different hold of package a"},
    {"Repositories", "package_repository: {name: r, uris: u, suites: s}",
     "package_repository: {name: r, uris: v, suites: s}",
     "a different content of package repository r"},
    {"UnitStartedTwice", "unit: {name: munge.service, state: started}",
     "unit: {name: munge.service, state: started, enabled: true}", ""},
    {"UnitStartedAndStopped", "unit: {name: munge.service, state: started}",
     "unit: {name: munge.service, state: stopped}", "a different state of unit munge.service"},
    {"UnitEnabledAndNot", "unit: {name: munge.service, enabled: true}",
     "unit: {name: munge.service, enabled: false}", "a different enabled of unit munge.service"},
    {"Users", "user: {name: eve, uid: 1000}", "user: {name: eve, uid: 1001}",
     "a different uid of user eve"},
    {"UsersInOtherGroups", "user: {name: eve, groups: [a]}", "user: {name: eve, groups: [b]}", ""},
    {"Groups", "group: {name: g, gid: 100}", "group: {name: g, state: absent}",
     "a different state of group g"},
    {"HostNames", "hostname: {name: a}", "hostname: {name: b}",
     "a different value of the host name"},
    {"KernelParameters", "sysctl: {key: vm.swappiness, value: 1}",
     "sysctl: {key: vm/swappiness, value: 2}",
     "a different value of kernel parameter vm.swappiness"},
    {"KernelParametersOfOneValue", "sysctl: {key: net.ipv4.tcp_rmem, value: '1 2  3'}",
     "sysctls: {name: net, values: {net.ipv4.tcp_rmem: '1 2 3'}}", ""},
    {"KernelParameterOfASet", "sysctl: {key: vm.swappiness, value: 1}",
     "sysctls: {name: vm, values: {vm.swappiness: 2}}",
     "a different value of kernel parameter vm.swappiness"},
    {"SetsOfKernelParameters", "sysctls: {name: vm, values: {vm.swappiness: 2}}",
     "sysctls: {name: vm, values: {vm.nr_hugepages: 2}}", "a different list of sysctls vm"},
    {"SlurmAccounts", "slurm_accounts: {cluster: c, qos: [{name: a}]}",
     "slurm_accounts: {cluster: c, qos: [{name: b}]}", "a different list of Slurm accounts of c"},
    {"SlurmAccountsOfTwoClusters", "slurm_accounts: {cluster: c, qos: [{name: a}]}",
     "slurm_accounts: {cluster: d, qos: [{name: b}]}", ""},
    {"KernelModules", "kernel_module: {name: nvidia-uvm}",
     "kernel_module: {name: nvidia_uvm, state: blacklisted}",
     "a different state of kernel module nvidia_uvm"},
    {"Mounts", "mount: {path: /home, source: 'a:/h', type: nfs4}",
     "mount: {path: /home, source: 'b:/h', type: nfs4}", "a different source of mount /home"},
    {"MountAndItsDirectory", "mount: {path: /home, source: 'a:/h', type: nfs4}",
     "directory: {path: /home, mode: \"0755\"}", ""},
    {"MountOfASet", "mount: {path: /home, source: 'a:/h', type: nfs4}",
     "mounts: {name: nfs, mounts: [{path: /home, source: 'a:/h', type: nfs}]}",
     "a different type of mount /home"},
    {"Images",
     "container_image: {runtime: podman, image: 'localhost/a:1', archive: /a, sha256: "
     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}",
     "container_image: {runtime: podman, image: 'localhost/a:1', state: absent}",
     "a different state of image localhost/a:1 of podman"},
    {"ImagesOfTwoRuntimes", "container_image: {runtime: docker, image: 'l.x/a:1', state: absent}",
     "container_image: {runtime: podman, image: 'l.x/a:1', state: absent}", ""},
    {"Commands", "command: {argv: [a], creates: /x}", "command: {argv: [b], creates: /x}", ""},
};

class OwnersOf : public CompileTest, public ::testing::WithParamInterface<OwnerRow> {};

TEST_P(OwnersOf, OneThing) {
  const OwnerRow& row = GetParam();
  site["playbooks/site.yaml"] = "- play: p\n  hosts: all\n  roles: [a, b]\n";
  site["playbooks/roles/a/tasks/main.yaml"] = absl::StrCat("- name: first\n  ", row.first, "\n");
  site["playbooks/roles/b/tasks/main.yaml"] =
      absl::StrCat("\n- name: second\n  ", row.second, "\n");
  if (*row.fight == '\0') {
    Compile();
    return;
  }
  EXPECT_THAT(CompileError(), StatusIs(kInvalid, AllOf(Said(), HasSubstr(row.fight))));
}

INSTANTIATE_TEST_SUITE_P(Rows, OwnersOf, ::testing::ValuesIn(kOwnerRows),
                         [](const auto& info) { return std::string(info.param.name); });

class OwnersTest : public CompileTest {};

TEST_F(OwnersTest, TheErrorNamesBothTasksAndTheRemedy) {
  SetTasks(
      "- name: the motd\n  file: {path: /etc/motd, content: a}\n"
      "- name: the motd again\n  file: {path: /etc/motd, content: b, mode: \"0600\"}\n");
  EXPECT_THAT(
      CompileError(),
      StatusIs(
          kInvalid,
          "roles/r/tasks/main.yaml:3: 'the motd again' sets a different content of /etc/motd than "
          "'the motd' at roles/r/tasks/main.yaml:1: at every apply, each would undo the changes of "
          "the other. Remove one of them, or let `when` choose between them"));
}

// The content of a parameter is in the plan; a role's file is a blob above a certain size.
TEST_F(OwnersTest, ContentsAreComparedHoweverTheyTravel) {
  for (const size_t size : {size_t{3000}, playbook::kAlwaysInline, playbook::kAlwaysInline + 1}) {
    SCOPED_TRACE(size);
    std::string& source = site["playbooks/roles/r/files/f"];
    source = std::string(size, 'x');
    SetTasks(absl::StrCat("- name: a\n  file: {path: /e, content: ", source,
                          "}\n- name: b\n  file: {path: /e, source: f}\n"));
    const v1::Plan plan = Compile();
    ASSERT_EQ(plan.roles_size(), 1);
    EXPECT_EQ(plan.roles(0).steps(0).file().content().size(), size);
    EXPECT_EQ(plan.roles(0).steps(1).file().blob_size() > 0, size > playbook::kAlwaysInline);
    source.back() = 'y';
    EXPECT_THAT(CompileError(), StatusIs(kInvalid, HasSubstr("a different content of /e")));
  }
}

TEST_F(OwnersTest, ATaskThatDoesNotApplyOwnsNothing) {
  SetTasks(
      "- name: a\n  file: {path: /etc/motd, content: a}\n  when: node.name == 'c002'\n"
      "- name: b\n  file: {path: /etc/motd, content: b}\n  when: node.name != 'c002'\n");
  Compile();
}

TEST_F(OwnersTest, OnlyTheNodesThatGetBothAreRefused) {
  SetTasks(
      "- name: a\n  file: {path: /etc/motd, content: a}\n"
      "- name: b\n  file: {path: /etc/motd, content: b}\n  when: node.name == 'c002'\n");
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002"});
  EXPECT_OK(plans.at(0).error);
  EXPECT_THAT(plans.at(1).error, StatusIs(kInvalid, Said()));
}

TEST_F(OwnersTest, HandlersOwnNothing) {
  SetTasks("- name: a\n  unit: {name: munge.service, state: started}\n  notify: stop\n",
           "- name: stop\n  unit: {name: munge.service, state: stopped}\n");
  Compile();
}

TEST_F(OwnersTest, ItemsOfALoopThatFightAreRefused) {
  SetTasks("- name: users\n  user: {name: eve, uid: \"{{ item }}\"}\n  loop: [1000, 1001]\n");
  EXPECT_THAT(CompileError(), StatusIs(kInvalid, Said()));
}

TEST_F(OwnersTest, NoErrorHoldsASecret) {
  secrets.secrets["key"] = "hunter2";
  SetTasks(
      "- name: a\n  line: {path: /e, line: \"pw {{ secret('key') }}\"}\n"
      "- name: b\n  line: {path: /e, line: \"pw {{ secret('key') }}\", state: absent}\n");
  EXPECT_THAT(CompileError(), StatusIs(kInvalid, AllOf(Said(), Not(HasSubstr("hunter2")))));
}

// Plays of one run, compiled one after the other as in a run.
class OwnersOfARun : public CompileTest {
 protected:
  absl::Status Run(const std::string& first, const std::string& second) {
    site["playbooks/site.yaml"] = absl::StrCat(
        "- play: p\n  hosts: all\n  tasks:\n    - name: first\n      ", first,
        "\n- play: q\n  hosts: all\n  tasks:\n    - name: second\n      ", second, "\n");
    options.owners = std::make_shared<RunOwners>();
    const std::vector<NodePlan> before = CompileFor({"c001"}, 0);
    EXPECT_OK(before.at(0).error);
    // A play that is compiled again does not conflict with itself.
    EXPECT_OK(CompileFor({"c001"}, 0).at(0).error);
    return CompileFor({"c001"}, 1).at(0).error;
  }
};

TEST_F(OwnersOfARun, ALaterPlayDoesNotWriteOtherwise) {
  EXPECT_THAT(Run("file: {path: /e, content: a}", "file: {path: /e, content: b}"),
              StatusIs(kInvalid, Said()));
  EXPECT_OK(Run("file: {path: /e, content: a}", "file: {path: /e, content: a}"));
}

TEST_F(OwnersOfARun, ALaterPlayMayStopAndRemove) {
  EXPECT_OK(Run("unit: {name: slurmd.service, state: stopped}",
                "unit: {name: slurmd.service, state: started}"));
  EXPECT_OK(Run("file: {path: /e, content: a}", "file: {path: /e, state: absent}"));
  EXPECT_OK(Run("package: {name: a}", "package: {name: a, state: absent}"));
}

// Reminds the author of a new kind of resource.
TEST(Owners, EveryKindOfResourceOwnsSomethingOrActsOnly) {
  const auto* kinds = v1::Step::descriptor()->FindOneofByName("resource");
  ASSERT_NE(kinds, nullptr);
  std::set<std::string> acting;
  for (int i = 0; i < kinds->field_count(); ++i) {
    v1::Step step;
    google::protobuf::Message* resource =
        step.GetReflection()->MutableMessage(&step, kinds->field(i));
    // Each of these claims its resource.
    for (const char* name : {"name", "path", "key"}) {
      const auto* field = resource->GetDescriptor()->FindFieldByName(name);
      if (field != nullptr) resource->GetReflection()->SetString(resource, field, "/x");
    }
    if (step.has_package()) step.mutable_package()->add_names("x");
    if (step.has_unit()) step.mutable_unit()->set_enabled(true);
    if (playbook::ClaimsOf(step).empty()) acting.insert(kinds->field(i)->name());
  }
  EXPECT_EQ(acting, (std::set<std::string>{"command", "package_upgrade", "reboot", "pending_reboot",
                                           "last_reboot"}));
}

}  // namespace
}  // namespace muster::controller
