// Every parameter of every resource reaches its field.
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "controller/playbook/schema/schema.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

struct ResourceRow {
  const char* name;
  const char* resource;  // as written in a task
  const char* step;      // the resource field of the step, as text
};

std::ostream& operator<<(std::ostream& out, const ResourceRow& row) { return out << row.name; }

const ResourceRow kResourceRows[] = {
    {"Controller", "controller: {version: 0.2.0, packages: /x.deb, allow_downgrade: true}",
     "controller { version: '0.2.0' packages: '/x.deb' allow_downgrade: true }"},
    {"Package", "package: {name: munge, state: latest, recommends: true}",
     "package { names: 'munge' state: PACKAGE_STATE_LATEST install_recommends: true }"},
    {"PackageVersion", "package: {names: [a, b], version: 1.20, state: present}",
     "package { names: 'a' names: 'b' version: '1.20' state: PACKAGE_STATE_PRESENT }"},
    {"PackageHeld",
     "package: {name: slurmd, version: \"22.05.*\", hold: true, allow_downgrade: true}",
     "package { names: 'slurmd' version: '22.05.*' hold: true allow_downgrade: true }"},
    {"PackagePurged", "package: {name: exim4, state: absent, purge: true}",
     "package { names: 'exim4' state: PACKAGE_STATE_ABSENT purge: true }"},
    {"PackageRepositoryPins",
     "package_repository: {name: r, uris: u, suites: s, pins: [{priority: -1}, "
     "{packages: [a, 'b*'], priority: 1001, pin: 'version 5{{ 0 }}.*'}, {packages: c, "
     "priority: \"{{ 700 + 1 }}\"}]}",
     "package_repository { name: 'r' uris: 'u' suites: 's' pins { priority: -1 } "
     "pins { packages: 'a' packages: 'b*' priority: 1001 pin: 'version 50.*' } "
     "pins { packages: 'c' priority: 701 } }"},
    {"PackageRepositoryPinsFromAVariable",
     "package_repository: {name: r, uris: u, suites: s, "
     "pins: \"{{ [{'packages': 'a', 'priority': 5}] }}\"}",
     "package_repository { name: 'r' uris: 'u' suites: 's' pins { packages: 'a' priority: 5 } }"},
    {"PackageRepositoryOfDnf",
     "package_repository: {name: r, base_urls: [u, v], signed_metadata: true, signed_by: /k}",
     "package_repository { name: 'r' base_urls: 'u' base_urls: 'v' signed_metadata: true "
     "signed_by: '/k' }"},
    {"PackageModule", "package_module: {name: driver, stream: 535-dkms}",
     "package_module { name: 'driver' stream: '535-dkms' }"},
    {"PackageModuleAbsent", "package_module: {name: driver, state: absent}",
     "package_module { name: 'driver' state: PRESENCE_ABSENT }"},
    {"PackageRepositoryOnePin",
     "package_repository: {name: r, uris: u, suites: s, pins: {priority: 900}}",
     "package_repository { name: 'r' uris: 'u' suites: 's' pins { priority: 900 } }"},
    {"PackageRepository",
     "package_repository: {name: slurm, uris: 'http://m/d', suites: [s1, s2], components: main, "
     "types: [deb, deb-src], architectures: amd64, key_file: slurm.asc}",
     "package_repository { name: 'slurm' uris: 'http://m/d' suites: 's1' suites: 's2' "
     "components: 'main' types: 'deb' types: 'deb-src' architectures: 'amd64' key: 'KEY' }"},
    {"PackageRepositoryGone", "package_repository: {name: slurm, state: absent}",
     "package_repository { name: 'slurm' state: PRESENCE_ABSENT }"},
    {"PackageRepositorySigned",
     "package_repository: {name: s, uris: u, suites: s, signed_by: /k.gpg, key: \"{{ none }}\"}",
     "package_repository { name: 's' uris: 'u' suites: 's' signed_by: '/k.gpg' }"},
    {"Download",
     "download: {path: /opt/f, urls: [http://a/f, https://b/f], sha256: "
     "ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB, owner: o, group: g, "
     "mode: \"0600\", proxy: http://p:3128, timeout: 1h, attempts: 7}",
     "download { path: '/opt/f' urls: 'http://a/f' urls: 'https://b/f' sha256: "
     "'abababababababababababababababababababababababababababababababab' owner: 'o' group: 'g' "
     "mode: 384 proxy: 'http://p:3128' timeout { seconds: 3600 } attempts: 7 }"},
    {"Archive",
     "archive: {path: /opt/a, urls: http://a/f.tgz, sha256: "
     "abababababababababababababababababababababababababababababababab, strip_components: 1, "
     "owner: o, group: g, allow_special: true, max_bytes: 16GiB, max_entries: 9, proxy: http://p, "
     "timeout: 1m, attempts: 2, state: present}",
     "archive { path: '/opt/a' urls: 'http://a/f.tgz' sha256: "
     "'abababababababababababababababababababababababababababababababab' strip_components: 1 "
     "owner: 'o' group: 'g' allow_special: true max_bytes: 17179869184 max_entries: 9 "
     "proxy: 'http://p' timeout { seconds: 60 } attempts: 2 state: PRESENCE_PRESENT }"},
    {"ArchiveOfTheRole", "archive: {path: /opt/a, source: slurm.asc, max_bytes: 77}",
     "archive { path: '/opt/a' content: 'KEY' max_bytes: 77 sha256: "
     "'5ca24005b740717ba4f3f6bc48a230700e68c2a4b11ecedb96f169f4efaf1f21' }"},
    {"ContainerImage",
     "container_image: {runtime: docker, image: "
     "'registry.example/"
     "tool@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', max_bytes: "
     "8GiB, timeout: 1h}",
     "container_image { runtime: CONTAINER_RUNTIME_DOCKER image: "
     "'registry.example/"
     "tool@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' max_bytes: "
     "8589934592 timeout { seconds: 3600 } }"},
    {"ContainerImageOfAnArchive",
     "container_image: {runtime: podman, image: 'localhost/tool:1', archive: /srv/tool.tar, "
     "sha256: "
     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, min_free_bytes: 500MiB, "
     "state: present}",
     "container_image { runtime: CONTAINER_RUNTIME_PODMAN image: 'localhost/tool:1' archive: "
     "'/srv/tool.tar' sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' "
     "min_free_bytes: 524288000 state: PRESENCE_PRESENT }"},
    {"ContainerImageGone",
     "container_image: {runtime: enroot, image: x, path: /srv/tool.sqsh, state: absent}",
     "container_image { runtime: CONTAINER_RUNTIME_ENROOT image: 'x' path: '/srv/tool.sqsh' state: "
     "PRESENCE_ABSENT }"},
    {"ArchiveGone", "archive: {path: /opt/a, state: absent}",
     "archive { path: '/opt/a' state: PRESENCE_ABSENT }"},
    {"File",
     "file: {path: /etc/a, content: hello, owner: root, group: adm, mode: \"0640\", "
     "validate: [visudo, -cf, \"%s\"], only_if_missing: true}",
     "file { path: '/etc/a' content: 'hello' owner: 'root' group: 'adm' mode: 416 "
     "validate: 'visudo' validate: '-cf' validate: '%s' only_if_missing: true }"},
    {"FileFromTemplate", "file: {path: /etc/a, template: motd.j2}",
     "file { path: '/etc/a' content: 'on c001\\n' }"},
    {"FileFromSource", "file: {path: /etc/a, source: \"{{ 'slurm' }}.asc\"}",
     "file { path: '/etc/a' content: 'KEY' }"},
    {"FileGone", "file: {path: /etc/a, state: absent}",
     "file { path: '/etc/a' state: PRESENCE_ABSENT }"},
    {"Directory", "directory: {path: /srv, owner: 1000, group: users, mode: \"2775\"}",
     "directory { path: '/srv' owner: '1000' group: 'users' mode: 1533 }"},
    {"DirectoryGone", "directory: {path: /srv, state: absent, recursive: true}",
     "directory { path: '/srv' state: PRESENCE_ABSENT recursive: true }"},
    {"Symlink", "symlink: {path: /a, target: b, state: present}",
     "symlink { path: '/a' target: 'b' state: PRESENCE_PRESENT }"},
    {"Unit", "unit: {name: munge.service, state: started, enabled: true, masked: false}",
     "unit { name: 'munge.service' state: UNIT_STATE_STARTED enabled: true masked: false }"},
    {"User",
     "user: {name: ann, state: present, uid: 1001, group: staff, groups: [adm, video], "
     "home: /home/ann, shell: /bin/bash, comment: Ann, system: false, create_home: true, "
     "password_hash: \"$6$x\", authorized_keys: [k1, k2]}",
     "user { name: 'ann' state: PRESENCE_PRESENT uid: 1001 primary_group: 'staff' groups: 'adm' "
     "groups: 'video' home: '/home/ann' shell: '/bin/bash' comment: 'Ann' create_home: true "
     "password_hash: '$6$x' authorized_keys: 'k1' authorized_keys: 'k2' }"},
    {"UserWithoutKeys", "user: {name: ann, authorized_keys: []}",
     "user { name: 'ann' no_authorized_keys: true }"},
    {"UserWithoutKeysFromAVariable", "user: {name: ann, authorized_keys: \"{{ [] }}\"}",
     "user { name: 'ann' no_authorized_keys: true }"},
    {"UserWhoseKeysAreTheirOwn", "user: {name: ann, authorized_keys: \"{{ none }}\"}",
     "user { name: 'ann' }"},
    {"Reboot",
     "reboot: {when: required, reason: new kernel, timeout: 20m, with_running_jobs: true}",
     "reboot { when: REBOOT_WHEN_REQUIRED reason: 'new kernel' timeout { seconds: 1200 } "
     "with_running_jobs: true }"},
    {"RebootIntoAnImage", "reboot: {image: worker@1a2b3c4d, timeout: 1h}",
     "reboot { image: 'worker@1a2b3c4d' timeout { seconds: 3600 } }"},
    {"Group", "group: {name: staff, gid: 900, system: true, state: present}",
     "group { name: 'staff' gid: 900 system: true state: PRESENCE_PRESENT }"},
    {"Command",
     "command: {argv: [make, -C, \"{{ cluster }}\"], unless: [test, -e, /x], directory: /src, "
     "environment: {A: 1, B: \"{{ node.name }}\"}, timeout: 1h30m, retries: 3, "
     "retry_delay: 500ms}",
     "command { argv: 'make' argv: '-C' argv: 'hpc1' unless: 'test' unless: '-e' unless: '/x' "
     "directory: '/src' environment { key: 'A' value: '1' } environment { key: 'B' value: 'c001' } "
     "timeout { seconds: 5400 } retries: 3 retry_delay { nanos: 500000000 } }"},
    {"CommandThatReads", "command: {argv: [scontrol, ping], changes: false}",
     "command { argv: 'scontrol' argv: 'ping' changes_nothing: true }"},
    {"CommandThatIsTold",
     "command: {argv: [realm, join], creates: /x, stdin: \"{{ cluster }}\\n\"}",
     "command { argv: 'realm' argv: 'join' creates: '/x' input: 'hpc1\\n' }"},
    {"CommandThatCreates", "command: {argv: [mkfs, /dev/x], creates: /mnt/x}",
     "command { argv: 'mkfs' argv: '/dev/x' creates: '/mnt/x' }"},
    {"Line",
     "line: {path: /etc/a, line: \"a={{ cluster }}\", match: '^a=', insert_after: '^b', create: "
     "true, "
     "validate: [test, -s, \"%s\"]}",
     "line { path: '/etc/a' line: 'a=hpc1' match: '^a=' insert_after: '^b' create: true "
     "validate: 'test' validate: '-s' validate: '%s' }"},
    {"LineGone", "line: {path: /etc/a, key: Port, state: absent}",
     "line { path: '/etc/a' state: PRESENCE_ABSENT key: 'Port' }"},
    {"Sysctl", "sysctl: {key: vm.swappiness, value: 10, state: present}",
     "sysctl { key: 'vm.swappiness' value: '10' state: PRESENCE_PRESENT }"},
    {"KernelModule", "kernel_module: {name: nvidia, parameters: [a=1, b], state: loaded}",
     "kernel_module { name: 'nvidia' state: KERNEL_MODULE_STATE_LOADED parameters: 'a=1' "
     "parameters: 'b' }"},
    {"Mount",
     "mount: {path: /home, source: 'n:/h', type: nfs4, options: [ro, hard], state: defined, "
     "after: a.service}",
     "mount { path: '/home' source: 'n:/h' fs_type: 'nfs4' options: 'ro' options: 'hard' "
     "state: MOUNT_STATE_DEFINED after: 'a.service' }"},
    {"Sysctls", "sysctls: {name: net, values: {a.b: 1, c.d: \"{{ cluster }}\"}}",
     "sysctls { name: 'net' values { key: 'a.b' value: '1' } values { key: 'c.d' value: 'hpc1' } "
     "}"},
    {"Mounts",
     "mounts: {name: s, mounts: [{path: /a, source: tmpfs, type: tmpfs}, "
     "{path: \"/{{ cluster }}\", source: s, type: t, options: [x]}]}",
     "mounts { name: 's' mounts { path: '/a' source: 'tmpfs' fs_type: 'tmpfs' } "
     "mounts { path: '/hpc1' source: 's' fs_type: 't' options: 'x' } }"},
    {"MountsOfAVariable",
     "mounts: {name: s, mounts: \"{{ [{'path': '/a', 'source': 's', 'type': 't'}] }}\"}",
     "mounts { name: 's' mounts { path: '/a' source: 's' fs_type: 't' } }"},
    {"NoMounts", "mounts: {name: s, mounts: []}", "mounts { name: 's' }"},
    {"FilesIn",
     "files_in: {path: /d, files: [{name: a, content: x}, {name: b, template: motd.j2}, "
     "{name: c, source: slurm.asc}], owner: root, group: adm, mode: \"0640\", purge: true, "
     "keep: 'k*'}",
     "files_in { path: '/d' files { name: 'a' content: 'x' } files { name: 'b' content: 'on "
     "c001\\n' } "
     "files { name: 'c' content: 'KEY' } owner: 'root' group: 'adm' mode: 416 purge: true "
     "keep: 'k*' }"},
    {"FileSystem",
     "file_system: {device: /dev/disk/by-id/wwn-1, type: xfs, label: scratch, options: [-m, "
     "reflink=0], replaces_uuid: 1b2c}",
     "file_system { device: '/dev/disk/by-id/wwn-1' type: FILE_SYSTEM_TYPE_XFS label: 'scratch' "
     "options: '-m' options: 'reflink=0' replaces_uuid: '1b2c' }"},
    {"SlurmAccounts",
     "slurm_accounts: {cluster: \"{{ cluster }}\", qos: [{name: long, limits: {Priority: 10}}], "
     "accounts: [{name: optics, parent: physics, organization: o, description: the light, "
     "limits: {QOS: 'long,normal', GrpTRES: gres/gpu=4}}], "
     "users: [{name: ann, accounts: [optics, root], default_account: root, limits: {MaxJobs: 3}}]}",
     "slurm_accounts { cluster: 'hpc1' qos { name: 'long' limits { key: 'Priority' value: '10' } } "
     "accounts { name: 'optics' parent: 'physics' organization: 'o' description: 'the light' "
     "limits { key: 'GrpTRES' value: 'gres/gpu=4' } limits { key: 'QOS' value: 'long,normal' } } "
     "users { name: 'ann' accounts: 'optics' accounts: 'root' default_account: 'root' "
     "limits { key: 'MaxJobs' value: '3' } } }"},
    {"SlurmAccountsOfVariables",
     "slurm_accounts: {cluster: c, qos: \"{{ [{'name': 'long', 'limits': {'Priority': 10}}] }}\", "
     "users: \"{{ [{'name': 'ann', 'accounts': 'optics'}] }}\"}",
     "slurm_accounts { cluster: 'c' qos { name: 'long' limits { key: 'Priority' value: '10' } } "
     "users { name: 'ann' accounts: 'optics' } }"},
    {"NoSlurmAccounts", "slurm_accounts: {cluster: c, users: []}",
     "slurm_accounts { cluster: 'c' }"},
    {"Hostname", "hostname: {name: \"{{ node.name }}\"}", "hostname { name: 'c001' }"},
};

class ResourceTest : public CompileTest, public ::testing::WithParamInterface<ResourceRow> {};

TEST_P(ResourceTest, ReachesThePlan) {
  SetTasks(absl::StrCat("- name: a\n  ", GetParam().resource, "\n"));
  site["playbooks/roles/r/templates/motd.j2"] = "on {{ node.name }}\n";
  site["playbooks/roles/r/files/slurm.asc"] = "KEY";
  v1::Step step = Compile().roles(0).steps(0);
  step.clear_step_id();
  step.clear_name();
  step.clear_source();
  v1::Step expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().step, &expected));
  EXPECT_EQ(step.DebugString(), expected.DebugString());
}

INSTANTIATE_TEST_SUITE_P(Rows, ResourceTest, ::testing::ValuesIn(kResourceRows),
                         [](const auto& info) { return std::string(info.param.name); });

// The tables refer to fields by name: each must exist, and no resource of a step may be missing.
TEST(Schema, NamesTheFieldsOfThePlan) {
  const google::protobuf::OneofDescriptor* resources =
      v1::Step::descriptor()->FindOneofByName("resource");
  // Two that no playbook writes: a run makes them of a `reboot`, see reboot_mode.h.
  constexpr size_t kOfRuns = 2;
  EXPECT_EQ(playbook::ResourceTypes().size() + kOfRuns,
            static_cast<size_t>(resources->field_count()));
  for (const playbook::ResourceType& type : playbook::ResourceTypes()) {
    const auto* field = v1::Step::descriptor()->FindFieldByName(type.key);
    ASSERT_NE(field, nullptr) << type.key;
    for (const playbook::Param& param : type.params) {
      EXPECT_NE(field->message_type()->FindFieldByName(param.field), nullptr)
          << type.key << "." << param.key;
    }
  }
}

}  // namespace
}  // namespace muster::controller
