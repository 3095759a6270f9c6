#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UserTest : public ResourceTest {};

TEST_F(UserTest, ChecksThenConverges) {
  node_.accounts.groups["slurm"] = {.name = "slurm", .gid = 64030};
  node_.accounts.groups["video"] = {.name = "video", .gid = 44};
  node_.accounts.groups["audio"] = {.name = "audio", .gid = 29};
  node_.accounts.users["old"] = {.name = "old",
                                 .uid = 1500,
                                 .gid = 64030,
                                 .home = "/home/old",
                                 .shell = "/bin/sh",
                                 .password_hash = "!",
                                 .groups = {"audio"}};
  ExpectInSync(R"(user { name: "old" uid: 1500 primary_group: "slurm" groups: "audio" })");
  ExpectInSync(R"(user { name: "never" state: PRESENCE_ABSENT })");
  ExpectConverges(R"(user { name: "slurm" uid: 64030 primary_group: "slurm" system: true
                            home: "/var/lib/slurm" shell: "/usr/sbin/nologin" })",
                  {"state"});
  ExpectConverges(R"(user { name: "old" groups: ["video", "audio"] shell: "/bin/bash"
                            home: "/data/old" comment: "Old" })",
                  {"groups", "home", "shell", "comment"});
  EXPECT_THAT(node_.accounts.users["old"].groups, ElementsAre("audio", "video"));
  ExpectConverges(R"(user { name: "old" state: PRESENCE_ABSENT })", {"state"});
}

// useradd makes no account of a name that the directory has, and usermod changes none of its.
TEST_F(UserTest, AnAccountOfADirectoryIsNotTheNodesOwn) {
  node_.accounts.directory["zoe"] = {
      .name = "zoe", .uid = 70001, .gid = 70001, .home = "/home/zoe", .shell = "/bin/bash"};
  ExpectInSync(R"(user { name: "zoe" state: PRESENCE_ABSENT })");
  EXPECT_EQ(Make(R"(user { name: "eve" uid: 70001 })")->Check().status().code(),
            absl::StatusCode::kFailedPrecondition);
  ExpectInSync(R"(user { name: "zoe" uid: 70001 shell: "/bin/bash" })");
  for (const char* other : {"uid: 70002", "shell: '/bin/sh'"}) {
    const auto user = Make(absl::StrCat("user { name: 'zoe' ", other, " }"));
    EXPECT_THAT(user->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
    EXPECT_FALSE(user->Apply(observer_).ok());
  }
  node_.files.AddDirectory("/home/zoe");
  ExpectConverges(R"(user { name: "zoe" authorized_keys: "ssh-ed25519 AAAA zoe" })",
                  {"authorized_keys"});
  EXPECT_EQ(node_.accounts.users.count("zoe"), 0u);
}

// usermod refused: munge and slurmctld ran, with the homes that their packages had given them.
TEST_F(UserTest, ASystemAccountThatIsThereKeepsItsHome) {
  node_.accounts.groups["slurm"] = {.name = "slurm", .gid = 64030};
  node_.accounts.users["slurm"] = {.name = "slurm",
                                   .uid = 64030,
                                   .gid = 64030,
                                   .home = "/nonexistent",
                                   .shell = "/sbin/nologin"};
  const std::string step = R"(user { name: "slurm" uid: 64030 primary_group: "slurm" system: true
                                     home: "/var/lib/slurm" shell: "/usr/sbin/nologin" })";
  ExpectConverges(step, {"shell"});
  EXPECT_EQ(node_.accounts.users["slurm"].home, "/nonexistent");
  ExpectConverges(R"(user { name: "munge" system: true home: "/run/munge" })", {"state"});
  EXPECT_EQ(node_.accounts.users["munge"].home, "/run/munge");
}

TEST_F(UserTest, NeverShowsAPasswordHash) {
  const auto user = Make(R"(user { name: "root" password_hash: "$6$new" })");
  const auto changes = user->Check();
  ASSERT_OK(changes);
  EXPECT_THAT(*changes, ElementsAre(Change{"password_hash", "[secret]", "[secret]", ""}));
  ASSERT_OK(user->Apply(observer_));
  EXPECT_EQ(node_.accounts.users["root"].password_hash, "$6$new");
}

TEST_F(UserTest, NamesClashesAndWhatIsMissing) {
  EXPECT_THAT(Make(R"(user { name: "x" uid: 0 })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(R"(user { name: "x" primary_group: "no" })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(R"(user { name: "x" groups: "no" })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(UserTest, WritesKeysWithoutTrustingTheHome) {
  const std::string step =
      R"(user { name: "ann" authorized_keys: ["ssh-ed25519 A", "ssh-ed25519 B"] })";
  EXPECT_THAT(Make(step)->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  node_.files.AddDirectory("/home/ann");
  ExpectConverges(step, {"authorized_keys"});
  const auto& keys = node_.files.At("/home/ann/.ssh/authorized_keys");
  EXPECT_EQ(keys.content, "ssh-ed25519 A\nssh-ed25519 B\n");
  EXPECT_EQ(keys.stat.mode, 0600u);
  EXPECT_EQ(keys.stat.uid, node_.accounts.users["ann"].uid);
  EXPECT_EQ(node_.files.At("/home/ann/.ssh").stat.mode, 0700u);

  node_.files.AddDirectory("/home/eve");
  node_.files.AddLink("/home/eve/.ssh", "/etc");
  EXPECT_THAT(Make(R"(user { name: "eve" authorized_keys: "k" })")->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(UserTest, ReplacesKeysThatAreALink) {
  node_.accounts.users["eve"] = {.name = "eve", .uid = 1001, .gid = 1001, .home = "/home/eve"};
  node_.files.AddFile("/root/.ssh/authorized_keys", "k\n");
  node_.files.AddLink("/home/eve/.ssh/authorized_keys", "/root/.ssh/authorized_keys");
  ExpectConverges(R"(user { name: "eve" authorized_keys: "k" })", {"authorized_keys"});
  EXPECT_EQ(node_.files.At("/home/eve/.ssh/authorized_keys").stat.type, sys::FileType::kRegular);
  EXPECT_EQ(node_.files.At("/root/.ssh/authorized_keys").stat.uid, 0u);
}

TEST_F(UserTest, AnEmptyListTakesTheLastKeysAway) {
  node_.accounts.users["ann"] = {.name = "ann", .uid = 1001, .gid = 1001, .home = "/home/ann"};
  node_.files.AddDirectory("/home/ann");
  const std::string empty = R"(user { name: "ann" no_authorized_keys: true })";
  ExpectInSync(empty);
  ASSERT_OK(Make(empty)->Apply(observer_));
  EXPECT_FALSE(node_.files.Has("/home/ann/.ssh"));

  node_.files.AddFile("/home/ann/.ssh/authorized_keys", "ssh-ed25519 A\nssh-ed25519 B\n");
  ExpectInSync(R"(user { name: "ann" })");
  const auto changes = Make(empty, /*want_diff=*/true)->Check();
  ASSERT_OK(changes);
  ASSERT_EQ(changes->size(), 1u);
  EXPECT_EQ(changes->front().before, "2 lines");
  EXPECT_EQ(changes->front().after, "0 lines");
  EXPECT_THAT(changes->front().diff, HasSubstr("\n-ssh-ed25519 A\n-ssh-ed25519 B\n"));
  ExpectConverges(empty, {"authorized_keys"});
  EXPECT_EQ(node_.files.At("/home/ann/.ssh/authorized_keys").content, "");
}

TEST_F(UserTest, ANewUserWithoutKeysGetsNoFolderForThem) {
  ExpectConverges(R"(user { name: "ann" no_authorized_keys: true })", {"state"});
  EXPECT_FALSE(node_.files.Has("/home/ann/.ssh"));
}

// The system lists a user's primary group apart from the supplementary ones.
TEST_F(UserTest, ThePrimaryGroupNeedNotBeASupplementaryOne) {
  node_.accounts.groups["video"] = {.name = "video", .gid = 44};
  node_.accounts.groups["users"] = {.name = "users", .gid = 100};
  node_.accounts.groups["ann"] = {.name = "ann", .gid = 1001};
  node_.accounts.users["ann"] = {
      .name = "ann", .uid = 1001, .gid = 1001, .home = "/home/ann", .groups = {"video"}};
  node_.accounts.users["bob"] = {.name = "bob", .uid = 1002, .gid = 100, .home = "/home/bob"};
  ExpectInSync(R"(user { name: "ann" groups: ["ann", "video"] })");
  ExpectInSync(R"(user { name: "bob" groups: "users" })");
  // The former primary group does not stay by itself.
  ExpectConverges(
      R"(user { name: "ann" primary_group: "users" groups: ["ann", "users", "video"] })",
      {"primary_group", "groups"});
  EXPECT_THAT(node_.accounts.users["ann"].groups, ElementsAre("ann", "video"));
}

// A machine that had munge before Muster: usermod refuses below a process, when the group has
// already changed.
class BusyAccountTest : public ResourceTest {
 protected:
  BusyAccountTest() {
    node_.accounts.groups["munge"] = {.name = "munge", .gid = 121};
    node_.accounts.users["munge"] = {
        .name = "munge", .uid = 113, .gid = 121, .home = "/nonexistent"};
    node_.files.AddFile("/proc/self/mountinfo", kRoot);
    AddProcess(812, "munged");
  }

  void AddProcess(int pid, const std::string& name) {
    const std::string folder = absl::StrCat("/proc/", pid);
    node_.files.AddFile(folder + "/status", absl::StrCat("Name:\t", name, "\nUid:\t113\n"));
    node_.files.AddFile(folder + "/mountinfo", kRoot);
  }

  static constexpr char kRoot[] = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";

  static constexpr char kUser[] = R"(user { name: "munge" uid: 64031 primary_group: "munge" })";
  static constexpr char kGroup[] = R"(group { name: "munge" gid: 64031 })";
};

TEST_F(BusyAccountTest, NoIdChangesWhileProcessesRun) {
  // In check mode, too, an earlier step is not said to mend it.
  EXPECT_THAT(Make(kGroup)->Check(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_THAT(Make(kUser)->Check(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_THAT(Make(kGroup)->Apply(observer_), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_EQ(node_.accounts.groups["munge"].gid, 121u);
  ExpectInSync(R"(user { name: "munge" uid: 113 })");
  ExpectConverges(R"(user { name: "munge" uid: 113 shell: "/bin/false" })", {"shell"});

  node_.files.AddFile("/proc/812/status", "Name:\tother\nUid:\t0\t0\t0\t0\n");
  ExpectConverges(kGroup, {"gid"});
  ExpectConverges(kUser, {"uid", "primary_group"});
}

TEST_F(BusyAccountTest, SomeOfManyProcessesAreNamed) {
  for (int pid = 900; pid < 910; ++pid) AddProcess(pid, "bash");
  EXPECT_THAT(Make(kUser)->Check(), StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(BusyAccountTest, TheGroupOfOthersChangesBelowThem) {
  node_.accounts.groups["people"] = {.name = "people", .gid = 121};
  node_.accounts.groups.erase("munge");
  ExpectConverges(R"(group { name: "people" gid: 2000 })", {"gid"});
}

TEST_F(BusyAccountTest, AGroupThatHasOnlyItsNameFromAUserIsNotTheUsers) {
  node_.accounts.users["munge"].gid = 100;
  ExpectConverges(kGroup, {"gid"});
}

// The machine that builds an image has processes, but none of the image's accounts.
TEST_F(BusyAccountTest, NothingRunsInARoot) {
  node_.context.is_running = false;
  ExpectConverges(kGroup, {"gid"});
}

class GroupTest : public ResourceTest {};

TEST_F(GroupTest, ChecksThenConverges) {
  node_.accounts.groups["old"] = {.name = "old", .gid = 500};
  ExpectInSync(R"(group { name: "old" })");
  ExpectInSync(R"(group { name: "never" state: PRESENCE_ABSENT })");
  ExpectConverges(R"(group { name: "new" gid: 501 system: true })", {"state"});
  ExpectConverges(R"(group { name: "old" gid: 502 })", {"gid"});
  ExpectConverges(R"(group { name: "old" state: PRESENCE_ABSENT })", {"state"});
  EXPECT_THAT(Make(R"(group { name: "x" gid: 501 })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent
