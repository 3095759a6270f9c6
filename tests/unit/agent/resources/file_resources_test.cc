#include "absl/strings/str_replace.h"
#include "agent/resources/missing.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class FileTest : public ResourceTest {};

TEST_F(FileTest, ChecksThenConverges) {
  node_.files.AddFile("/etc/same", "x", 0640);
  node_.files.AddFile("/etc/content", "old");
  node_.files.AddFile("/etc/longer", "much longer than before");
  node_.files.AddFile("/etc/mode", "x", 0644);
  node_.files.AddFile("/etc/gone", "x");
  node_.files.AddLink("/etc/link", "/etc/same");
  node_.accounts.users["munge"] = {.name = "munge", .uid = 110, .gid = 120};
  node_.accounts.groups["munge"] = {.name = "munge", .gid = 120};

  ExpectInSync(R"(file { path: "/etc/same" content: "x" })");
  ExpectInSync(R"(file { path: "/etc/same" content: "x" mode: 416 owner: "root" group: "0" })");
  ExpectInSync(R"(file { path: "/etc/never" state: PRESENCE_ABSENT })");
  ExpectInSync(R"(file { path: "/etc/content" content: "new" only_if_missing: true })");
  ExpectConverges(R"(file { path: "/etc/new" content: "x" })", {"content"});
  ExpectConverges(R"(file { path: "/etc/content" content: "new" })", {"content"});
  ExpectConverges(R"(file { path: "/etc/longer" content: "new" mode: 384 })", {"content", "mode"});
  ExpectConverges(
      R"(file { path: "/etc/mode" content: "x" mode: 256 owner: "munge" group: "munge" })",
      {"owner", "group", "mode"});
  ExpectConverges(R"(file { path: "/etc/gone" state: PRESENCE_ABSENT })", {"state"});
  ExpectConverges(R"(file { path: "/etc/link" content: "own" })", {"content"});
  EXPECT_EQ(node_.files.At("/etc/new").stat.mode, 0644u);
  EXPECT_EQ(node_.files.At("/etc/mode").stat.uid, 110u);
  EXPECT_EQ(node_.files.At("/etc/mode").stat.gid, 120u);
  EXPECT_EQ(node_.files.At("/etc/same").content, "x") << "written through the link";
}

TEST_F(FileTest, KeepsOwnerAndModeUnlessTheyAreSet) {
  node_.files.AddFile("/etc/x", "old", 0600, 7, 8);
  ExpectConverges(R"(file { path: "/etc/x" content: "new" })", {"content"});
  EXPECT_EQ(node_.files.At("/etc/x").stat.mode, 0600u);
  EXPECT_EQ(node_.files.At("/etc/x").stat.uid, 7u);
}

// Its old owner may have it open.
TEST_F(FileTest, WritesAFileAnewThatChangesHands) {
  node_.files.AddFile("/srv/tool", "x", 0755, 1000, 1000);
  ExpectConverges(R"(file { path: "/srv/tool" content: "x" owner: "root" mode: 2541 })",
                  {"owner", "mode"});
  EXPECT_THAT(node_.files.log(), ElementsAre("write /srv/tool"));
}

TEST_F(FileTest, FetchesABlobOnlyToWriteIt) {
  node_.files.AddDirectory("/etc");
  const std::string digest = node_.blobs.Add("big content");
  ExpectConverges("file { path: '/etc/x' blob_size: 11 blob_sha256: '" + digest + "' }",
                  {"content"});
  EXPECT_EQ(node_.files.At("/etc/x").content, "big content");
  const auto absent =
      Make("file { path: '/etc/y' blob_size: 3 blob_sha256: '" + std::string(64, 'a') + "' }");
  EXPECT_OK(absent->Check());
  EXPECT_THAT(absent->Apply(observer_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(FileTest, ValidatesTheNewContentFirst) {
  node_.files.AddFile("/etc/slurm/slurm.conf", "good");
  std::string seen;
  node_.processes.On("check", [&](const sys::ProcessSpec& spec) {
    seen = node_.files.Read(spec.argv[2]).value();
    return FakeProcessRunner::Prints(spec.argv[2] + ": line 3: nonsense\n",
                                     seen == "good2" ? 0 : 1);
  });
  const auto bad = Make(R"(file { path: "/etc/slurm/slurm.conf" content: "bad"
                                  validate: ["check", "-f", "%s"] })");
  EXPECT_THAT(bad->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), Not(HasSubstr(".new")))));
  EXPECT_EQ(seen, "bad");
  EXPECT_EQ(node_.files.At("/etc/slurm/slurm.conf").content, "good");
  ExpectConverges(R"(file { path: "/etc/slurm/slurm.conf" content: "good2"
                            validate: ["check", "-f", "%s"] })",
                  {"content"});
}

TEST_F(FileTest, ShowsADiffWhenItIsWantedAndNotSecret) {
  node_.files.AddFile("/etc/x", "a\nb\n");
  const std::string step = R"(file { path: "/etc/x" content: "a\nc\n" })";
  EXPECT_EQ(Make(step)->Check().value()[0].diff, "");
  EXPECT_THAT(Make(step, /*want_diff=*/true)->Check().value()[0].diff, HasSubstr("-b\n+c\n"));
  EXPECT_EQ(Make("sensitive: true " + step, true)->Check().value()[0].diff, "");
}

TEST_F(FileTest, NamesWhatStandsInTheWay) {
  node_.files.AddDirectory("/srv/data");
  EXPECT_THAT(Make(R"(file { path: "/srv/data" content: "x" })")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Make(R"(file { path: "/srv/x" owner: "slurm" })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(R"(file { path: "/srv/x" group: "slurm" })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(R"(file { path: "/nowhere/x" content: "x" })")->Apply(observer_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  node_.files.FailWrites("/srv/full", absl::ResourceExhaustedError("no space left"));
  EXPECT_THAT(Make(R"(file { path: "/srv/full" content: "x" })")->Apply(observer_),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

// Check said "changed", and Apply failed.
TEST_F(ResourceTest, AMissingFolderIsFoundByTheCheck) {
  node_.files.AddFile("/srv/file", "");
  node_.files.AddLink("/srv/link", "/elsewhere");
  for (const char* what :
       {"file { path: '%s/x' content: 'a' }", "symlink { path: '%s/x' target: '/a' }",
        "line { path: '%s/x' line: 'a' create: true }",
        "download { path: '%s/x' urls: 'http://a/b' sha256: "
        "'abababababababababababababababababababababababababababababababab' }"}) {
    const auto check = [&](const char* folder) {
      return Foreseen(*Make(absl::StrReplaceAll(what, {{"%s", folder}}))).status();
    };
    EXPECT_THAT(check("/nowhere/deep"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()))
        << what;
    EXPECT_THAT(check("/srv/file"), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << what;
    EXPECT_OK(check("/srv")) << what;
    EXPECT_OK(check("/srv/link")) << what;
  }
  // Steps that make the folder, and resources that must be absent, need none.
  for (const char* what : {"directory { path: '/nowhere/deep/x' }",
                           "file { path: '/nowhere/x' state: PRESENCE_ABSENT }",
                           "files_in { path: '/nowhere' files { name: 'x' content: 'a' } }"}) {
    EXPECT_OK(Foreseen(*Make(what))) << what;
  }
}

TEST_F(ResourceTest, OnlyWhatCanBringAFolderIsWaitedFor) {
  const absl::Status error =
      Foreseen(*Make("file { path: '/etc/slurm/a.d/x' content: 'a' }")).status();
  const struct {
    const char* step;
    bool may;
  } kCases[] = {
      {"directory { path: '/etc/slurm/a.d' }", true},
      {"directory { path: '/etc/slurm/a.d/deeper' }", true},
      {"directory { path: '/etc/slurm' }", false},
      {"directory { path: '/etc/slurm/a.d2' }", false},
      {"files_in { path: '/etc/slurm/a.d' }", true},
      {"package { names: 'slurmd' }", true},
      {"command { argv: 'make-it' }", true},
      {"unit { name: 'slurmd.service' }", true},
      {"archive { path: '/etc' }", true},
      {"archive { path: '/opt' }", false},
      {"mount { path: '/etc/slurm' }", true},
      {"mounts { mounts { path: '/home' } }", false},
      {"symlink { path: '/etc/slurm' target: '/srv/slurm' }", true},
      {"symlink { path: '/etc/slurm/a.d/y' target: '/srv' }", false},
      {"file { path: '/etc/slurm/slurm.conf' }", false},
      {"file { path: '/etc/motd' }", false},
      {"user { name: 'eve' home: '/home/eve' create_home: true }", false},
      {"user { name: 'slurm' home: '/etc/slurm' create_home: true }", true},
      {"sysctl { key: 'vm.swappiness' value: '1' }", false},
      {"hostname { name: 'c001' }", false},
  };
  for (const auto& c : kCases) {
    v1::Step step;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.step, &step)) << c.step;
    EXPECT_EQ(MayBring(step, error), c.may) << c.step;
  }
  // Errors that do not say what is missing wait for any step.
  v1::Step any;
  any.mutable_hostname();
  EXPECT_TRUE(MayBring(any, absl::FailedPreconditionError("no user 'slurm'")));
}

TEST_F(ResourceTest, RefusesStepsThatNoCompilerMakes) {
  const struct {
    const char* step;
    const char* message;
  } kCases[] = {
      {R"(file { path: "etc/x" })", "not an absolute path"},
      {R"(file { path: "/etc/../x" })", "plain form"},
      {R"(file { path: "/" })", "plain form"},
      {R"(file { path: "/x" mode: 32768 })", "permission bits"},
      {R"(file { path: "/x" blob_sha256: "abc" })", "SHA-256"},
      {R"(directory { path: "/var" state: PRESENCE_ABSENT recursive: true })",
       "folder of the root"},
      {R"(symlink { path: "/x" })", "target: is empty"},
      {R"(hostname { name: "a b" })", "name"},
      {R"(hostname { name: "a_b" })", "letters, digits"},
      {R"(unit { name: "munge" })", "write 'munge.service'"},
      {R"(unit { name: "a.service" masked: true state: UNIT_STATE_STARTED })", "masked"},
      {R"(user { name: "-x" })", "dash"},
      {R"(user { name: "x" comment: "a:b" })", "colon"},
      {R"(user { name: "x" authorized_keys: "a\nb" })", "line break"},
      {R"(group { name: "" })", "is empty"},
      {R"(package { })", "names: is empty"},
      {R"(package { names: "--force" })", "dash"},
      {R"(package { names: "a=1" })", "version"},
      {R"(package { names: "a" version: "1" state: PACKAGE_STATE_LATEST })",
       "only with state present"},
      {R"(package_repository { name: "x y" })", "blank"},
      {R"(package_repository { name: "x" uris: "http://a\nTrusted: yes" suites: "s" })",
       "line break"},
      {R"(package_repository { name: "x" suites: "s" })", "uris: is empty"},
      {R"(command { argv: "x" })", "nothing to do"},
      {R"(command { always: true })", "no program"},
      {R"()", "does not know the kind"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.step);
    EXPECT_THAT(TryMake(c.step),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.message))));
  }
}

class DirectoryTest : public ResourceTest {};

TEST_F(DirectoryTest, ChecksThenConverges) {
  node_.files.AddDirectory("/srv/there", 0700);
  node_.files.AddFile("/srv/full/file", "x");
  ExpectInSync(R"(directory { path: "/srv/there" })");
  ExpectInSync(R"(directory { path: "/srv/never" state: PRESENCE_ABSENT })");
  ExpectConverges(R"(directory { path: "/srv/a/b" })", {"state"});
  ExpectConverges(R"(directory { path: "/srv/there" mode: 493 owner: "12" })", {"owner", "mode"});
  EXPECT_EQ(node_.files.At("/srv/a/b").stat.mode, 0755u);
  EXPECT_THAT(Fields(*Make(R"(directory { path: "/srv/full" state: PRESENCE_ABSENT })")),
              ElementsAre(HasSubstr("recursive: true")));
  ExpectConverges(R"(directory { path: "/srv/full" state: PRESENCE_ABSENT recursive: true })",
                  {"state"});
  EXPECT_FALSE(node_.files.Has("/srv/full/file"));
  node_.files.AddLink("/srv/link", "/etc");
  EXPECT_THAT(Fields(*Make(R"(directory { path: "/srv/link" })")),
              ElementsAre(HasSubstr("symbolic link")));
}

class SymlinkTest : public ResourceTest {};

TEST_F(SymlinkTest, ChecksThenConverges) {
  node_.files.AddLink("/srv/right", "/a");
  node_.files.AddLink("/srv/wrong", "/b");
  node_.files.AddLink("/srv/gone", "/b");
  node_.files.AddFile("/srv/file", "x");
  node_.files.AddDirectory("/srv/dir");
  ExpectInSync(R"(symlink { path: "/srv/right" target: "/a" })");
  ExpectConverges(R"(symlink { path: "/srv/new" target: "../x" })", {"target"});
  ExpectConverges(R"(symlink { path: "/srv/wrong" target: "/a" })", {"target"});
  ExpectConverges(R"(symlink { path: "/srv/file" target: "/a" })", {"target"});
  ExpectConverges(R"(symlink { path: "/srv/gone" state: PRESENCE_ABSENT })", {"state"});
  EXPECT_THAT(Fields(*Make(R"(symlink { path: "/srv/dir" target: "/a" })")),
              ElementsAre(HasSubstr("not a symbolic link")));
}

class HostnameTest : public ResourceTest {};

TEST_F(HostnameTest, ChecksThenConverges) {
  node_.files.AddFile("/proc/sys/kernel/hostname", "debian\n");
  node_.files.AddDirectory("/etc");
  node_.processes.On("hostname ", [this](const sys::ProcessSpec& spec) {
    node_.files.AddFile("/proc/sys/kernel/hostname", spec.argv[1] + "\n");
    return sys::ProcessResult{};
  });
  ExpectConverges(R"(hostname { name: "c001" })", {"hostname", "/etc/hostname"});
  EXPECT_EQ(node_.files.At("/etc/hostname").content, "c001\n");
  node_.files.AddFile("/proc/sys/kernel/hostname", "dhcp-7\n");
  ExpectConverges(R"(hostname { name: "c001" })", {"hostname"});
}

}  // namespace
}  // namespace muster::agent
