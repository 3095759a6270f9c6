#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/resources/mount_comparison.h"
#include "agent/resources/mount_unit.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(MountUnitName, IsThatOfSystemdEscape) {
  EXPECT_EQ(MountUnitName("/home"), "home.mount");
  EXPECT_EQ(MountUnitName("/srv/a-b/c.d_e:f"), "srv-a\\x2db-c.d_e:f.mount");
  EXPECT_EQ(MountUnitName("/.hidden/.x"), "\\x2ehidden-.x.mount");
  EXPECT_EQ(MountUnitName("/a b\\ü"), "a\\x20b\\x5c\\xc3\\xbc.mount");
}

TEST(MountUnit, FormatsAndParses) {
  v1::MountResource spec;
  spec.set_path("/mnt/50%");
  spec.set_source("nfs1:/a%b");
  spec.set_fs_type("nfs4");
  spec.add_options("ro");
  spec.add_options("hard");
  spec.add_after("x.service");
  const std::string text = FormatMountUnit(MakeMountUnit(spec, "mount[/x]"), spec.path());
  EXPECT_EQ(text,
            "# Written by Muster for mount[/x]\n[Unit]\nDescription=/mnt/50%%\nWants=x.service\n"
            "After=x.service\n\n[Mount]\nWhat=nfs1:/a%%b\nWhere=/mnt/50%%\nType=nfs4\n"
            "Options=ro,hard\n\n[Install]\nWantedBy=remote-fs.target\n");
  const MountUnit parsed = ParseMountUnit(text);
  EXPECT_EQ(parsed.owner, "mount[/x]");
  EXPECT_EQ(parsed.source, "nfs1:/a%b");
  EXPECT_EQ(parsed.options, "ro,hard");
  EXPECT_EQ(parsed.after, "x.service");
  EXPECT_EQ(FormatMountUnit(parsed, spec.path()), text);
  spec.set_fs_type("beegfs");
  EXPECT_EQ(MakeMountUnit(spec, "").options, "ro,hard,_netdev") << "no circle by local-fs.target";
  spec.clear_after();
  EXPECT_EQ(MakeMountUnit(spec, "").wanted_by, "local-fs.target");
}

TEST(FindInFstab, ReadsItAsSystemdDoes) {
  constexpr char kFstab[] =
      "# /home is elsewhere\nUUID=1 / ext4 defaults 0 1\n"
      "#/dev/sdb /home ext4\nnfs:/b\t/mnt/a\\040b/ nfs ro\n/dev/sdc /home ext4\n";
  EXPECT_EQ(FindInFstab(kFstab, "/home"), 5);
  EXPECT_EQ(FindInFstab(kFstab, "/mnt/a b"), 4);
  EXPECT_EQ(FindInFstab(kFstab, "/mnt"), std::nullopt);
}

TEST(OtherMount, IsToldOnlyWhereThereIsNoDoubt) {
  testing::FakeBlockDevices disks;
  disks.disks["/dev/vg/home"].number = "253:3";
  disks.disks["/dev/disk/by-uuid/12-ab"].number = "253:3";
  const struct {
    const char* source;
    const char* type;
    const char* mounted;  // from the device's number on, in mountinfo
    const char* other;    // "": the same, or not known
  } kRows[] = {
      {"nfs1:/home", "nfs4", "0:50 / /home rw - nfs4 nfs1:/home rw", ""},
      {"nfs1:/home/", "nfs", "0:50 / /home rw - nfs4 nfs1://home rw", ""},
      {"nfs1:/home", "nfs4", "0:50 / /home rw - nfs4 oldnfs:/home rw", "oldnfs:/home (nfs4)"},
      {"nfs1:/home", "nfs4", "0:50 / /home rw - nfs4 nfs1:/old rw", "nfs1:/old (nfs4)"},
      {"nfs1:/home", "nfs4", "0:50 / /home rw - nfs4 NFS1.cluster:/home rw", ""},
      {"nfs1:/home", "nfs4", "0:50 / /home rw - nfs4 nfs10:/home rw", "nfs10:/home (nfs4)"},
      {"[fd00::1]:/a", "nfs4", "0:50 / /home rw - nfs4 [fd00::1]:/a rw", ""},
      {"[fd00::1]:/a", "nfs4", "0:50 / /home rw - nfs4 fd00:0::1:/a rw", ""},
      {"[fd00::1]:/a", "nfs4", "0:50 / /home rw - nfs4 10.0.0.1:/a rw", ""},
      {"nfs1:/a", "nfs4", "0:50 / /home rw - nfs4 10.0.0.1:/a rw", ""},
      {"10.0.0.1:/a", "nfs4", "0:50 / /home rw - nfs4 nfs1:/a rw", ""},
      {"10.0.0.1:/a", "nfs4", "0:50 / /home rw - nfs4 10.0.0.2:/a rw", "10.0.0.2:/a (nfs4)"},
      {"nfs1:/home", "nfs4", "8:1 / /home rw - xfs /dev/sda1 rw", "/dev/sda1 (xfs)"},
      {"nfs1:/home", "nfs4", "0:51 / /home rw - fuse.sshfs srv: rw", "srv: (fuse.sshfs)"},
      {"nfs1:/home", "nfs4", "0:52 / /home rw - autofs systemd-1 rw", ""},
      {"nfs1:/home", "nfs4", "0:50 / /elsewhere rw - nfs4 oldnfs:/home rw", ""},
      {"nfs1:/home", "nfs4", "", ""},
      {"srv:", "fuse.sshfs", "0:50 / /home rw - nfs4 oldnfs:/home rw", ""},
      {"/srv/home", "none", "8:1 / /home rw - xfs /dev/sda1 rw", ""},
      {"/dev/vg/home", "ext4", "253:3 / /home rw - ext4 /dev/mapper/vg-home rw", ""},
      {"UUID=12-ab", "ext4", "253:3 / /home rw - ext4 /dev/mapper/vg-home rw", ""},
      {"UUID=12-ab", "ext4", "8:1 / /home rw - ext4 /dev/sda1 rw", "/dev/sda1 (ext4)"},
      {"LABEL=none", "ext4", "8:1 / /home rw - ext4 /dev/sda1 rw", ""},
      {"/dev/vg/home", "btrfs", "0:40 / /home rw - btrfs /dev/sda1 rw", ""},
      {"/images/home", "ext4", "7:0 / /home rw - ext4 /dev/loop0 rw", ""},
      {"beegfs_nodev", "beegfs", "0:60 / /home rw - beegfs beegfs_nodev rw", ""},
      {"mgs@tcp:/work", "lustre", "0:61 / /home rw - lustre 10.0.0.1@tcp:/work rw", ""},
      {"tmpfs", "tmpfs", "0:62 / /home rw - tmpfs none rw", ""},
  };
  for (const auto& row : kRows) {
    const MountUnit wanted = {.source = row.source, .type = row.type};
    EXPECT_EQ(OtherMount(wanted, "/home", absl::StrCat("31 22 ", row.mounted), disks).value_or(""),
              row.other)
        << row.source << " " << row.mounted;
  }
  const MountUnit wanted = {.source = "nfs1:/home", .type = "nfs4"};
  EXPECT_EQ(OtherMount(wanted, "/home",
                       "31 22 0:50 / /home rw - nfs4 oldnfs:/home rw\n"
                       "32 22 0:51 / /home rw - nfs4 nfs1:/home rw\n",
                       disks),
            std::nullopt)
      << "the upper one counts";
  EXPECT_EQ(OtherMount(wanted, "/home",
                       "31 22 0:50 / /home rw - nfs4 files:/home rw\n"
                       "32 22 0:50 / /mnt rw - nfs4 files:/home rw\n",
                       disks),
            std::nullopt)
      << "the kernel shows the source of the first mount for both";
}

class MountPlaceTest : public ResourceTest {};

// systemd mounts by path: the owner of any folder above it could lead the mount anywhere.
TEST_F(MountPlaceTest, IsNoUsersFolder) {
  node_.files.AddDirectory("/home/ann");
  ASSERT_OK(node_.files.SetAttributes("/home/ann", {.uid = 1000}));
  const char* const kStep = "mount { path: '%s' source: 'nfs1:/x' fs_type: 'nfs4' }";
  const auto below = Make(absl::StrFormat(kStep, "/home/ann/data"));
  EXPECT_THAT(below->Check(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(below->Apply(observer_), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_OK(Make(absl::StrFormat(kStep, "/home/ann"))->Check());
  EXPECT_OK(Make("mount { path: '/home/ann/data' state: MOUNT_STATE_ABSENT }")->Check());
}

constexpr char kHome[] = "path: '/home' source: 'nfs1:/home' fs_type: 'nfs4' options: 'rw'";
constexpr char kFile[] = "/etc/systemd/system/home.mount";
constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";

class MountTest : public ResourceTest {
 protected:
  MountTest() {
    node_.files.AddDirectory("/etc/systemd/system");
    node_.files.AddFile(kBootId, "boot-1\n");
    // systemd knows each unit as soon as somebody asks for its file.
    for (const char* unit : {"home.mount", "home-apps.mount", "scratch.mount"})
      node_.units.units[unit];
  }
  static std::string Step(const std::string& spec) { return absl::StrCat("mount { ", spec, " }"); }
  static std::string Set(const std::string& mounts) {
    return absl::StrCat("mounts { name: 'shared' ", mounts, " }");
  }
  UnitStatus& Status(const std::string& unit) { return node_.units.units[unit].status; }
};

TEST_F(MountTest, MountsNowAndAtBoot) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  EXPECT_THAT(node_.files.At(kFile).content,
              AllOf(HasSubstr("What=nfs1:/home\nWhere=/home\nType=nfs4\nOptions=rw\n"),
                    HasSubstr("WantedBy=remote-fs.target")));
  EXPECT_THAT(node_.units.log(),
              ElementsAre("daemon-reload", "enable home.mount", "start home.mount"));
  Status("home.mount").active_state = "inactive";
  ExpectConverges(Step(kHome), {"state"});
  Status("home.mount").unit_file_state = "disabled";
  ExpectConverges(Step(kHome), {"at boot"});
}

TEST_F(MountTest, RemountsChangedOptionsAndMountsAChangedSourceAgain) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  const size_t before = node_.units.log().size();
  ExpectConverges(Step(absl::StrCat(kHome, " options: 'noatime'")), {"options"});
  ExpectConverges(
      Step("path: '/home' source: 'nfs2:/home' fs_type: 'nfs4' options: 'rw' options: 'noatime'"),
      {"source"});
  std::vector<std::string> log = node_.units.log();
  log.erase(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(log, ElementsAre("daemon-reload", "reload home.mount", "daemon-reload",
                               "restart home.mount"));
}

// A remount of xfs leaves its quotas as they are, and says nothing; to mount it again would stop
// slurmd, and the jobs with it.
TEST_F(MountTest, ChangedQuotasOfXfsCountFromTheNextBoot) {
  const std::string disk = "path: '/home' source: '/dev/sdb' fs_type: 'xfs' options: 'noatime'";
  const std::string counted = Step(absl::StrCat(disk, " options: 'uqnoenforce,gqnoenforce'"));
  ExpectConverges(Step(disk), {"unit", "state"});
  ExpectConverges(Step(absl::StrCat(disk, " options: 'nodiratime'")), {"options"});
  EXPECT_EQ(node_.units.log().back(), "reload home.mount");
  EXPECT_EQ(Fields(*Make(counted)), std::vector<std::string>{"options"});
  EXPECT_THAT(Make(counted)->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(node_.units.log().back(), "daemon-reload");
  EXPECT_FALSE(Make(counted)->Apply(observer_).ok()) << "it is as it was";
  EXPECT_EQ(Fields(*Make(counted)), std::vector<std::string>{"state"});

  // Taken back, nothing is left to do.
  ExpectConverges(Step(disk), {"options"});
  EXPECT_EQ(node_.units.log().back(), "reload home.mount");
  EXPECT_FALSE(Make(counted)->Apply(observer_).ok());
  node_.files.AddFile(kBootId, "boot-2\n");
  ExpectInSync(counted);
  ExpectConverges(Step(absl::StrCat(disk, " options: 'gqnoenforce' options: 'uqnoenforce'")),
                  {"options"});
  EXPECT_EQ(node_.units.log().back(), "reload home.mount");

  // Somebody has unmounted it.
  EXPECT_FALSE(Make(Step(disk))->Apply(observer_).ok());
  Status("home.mount").active_state = "inactive";
  ExpectConverges(Step(disk), {"state"});
  EXPECT_EQ(node_.units.log().back(), "start home.mount");
  EXPECT_EQ(node_.records.Get("mount", "/home").value(), std::nullopt);
}

TEST_F(MountTest, ACrashBeforeTheRemountIsMadeUpFor) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  const std::string changed = Step(absl::StrCat(kHome, " options: 'noatime'"));
  node_.units.units["home.mount"].job_error = absl::AbortedError("crash");
  EXPECT_THAT(Make(changed)->Apply(observer_), StatusIs(absl::StatusCode::kAborted, Said()));
  node_.units.units["home.mount"].job_error = absl::OkStatus();
  ExpectConverges(changed, {"state"});
  EXPECT_EQ(node_.units.log().back(), "reload home.mount");
}

// The boot has mounted it by the changed unit.
TEST_F(MountTest, ARebootMakesUpForARemount) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  const std::string changed = Step("path: '/home' source: 'nfs2:/home' fs_type: 'nfs4'");
  node_.units.units["home.mount"].job_error = absl::AbortedError("busy");
  ASSERT_FALSE(Make(changed)->Apply(observer_).ok());
  EXPECT_EQ(Fields(*Make(changed)), std::vector<std::string>{"state"});
  node_.files.AddFile(kBootId, "boot-2\n");
  ExpectInSync(changed);

  // The old record does not stand in for what this boot still has to do.
  const std::string again = Step("path: '/home' source: 'nfs3:/home' fs_type: 'nfs4'");
  ASSERT_FALSE(Make(again)->Apply(observer_).ok());
  node_.units.units["home.mount"].job_error = absl::OkStatus();
  ExpectConverges(again, {"state"});
  EXPECT_EQ(node_.units.log().back(), "restart home.mount");
  EXPECT_EQ(node_.records.Get("mount", "/home").value(), std::nullopt);
}

TEST_F(MountTest, ARecordWithoutABootIsOfThisOne) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  ASSERT_OK(node_.records.Put("mount", "/home", "mount again"));
  node_.units.units["home.mount"].job_error = absl::AbortedError("busy");
  EXPECT_EQ(Fields(*Make(Step(kHome))), std::vector<std::string>{"state"});
  ASSERT_FALSE(Make(Step(kHome))->Apply(observer_).ok());
  EXPECT_EQ(node_.records.Get("mount", "/home").value(), "mount again\nboot-1");
  node_.files.AddFile(kBootId, "boot-2\n");
  ExpectInSync(Step(kHome));
}

// systemd takes what fstab has mounted for the unit's own mount.
TEST_F(MountTest, WhatIsMountedFromElsewhereIsMountedAgain) {
  constexpr char kMountInfo[] = "/proc/self/mountinfo";
  node_.files.AddFile(kMountInfo, "31 22 0:50 / /home rw - nfs4 oldnfs:/home rw\n");
  Status("home.mount").active_state = "active";
  node_.units.units["home.mount"].job_error = absl::AbortedError("busy");
  EXPECT_EQ(Fields(*Make(Step(kHome))), (std::vector<std::string>{"unit", "mounted"}));
  EXPECT_FALSE(Make(Step(kHome))->Apply(observer_).ok());
  EXPECT_EQ(Fields(*Make(Step(kHome))), std::vector<std::string>{"state"});
  node_.units.units["home.mount"].job_error = absl::OkStatus();
  ExpectConverges(Step(kHome), {"state"});
  EXPECT_EQ(node_.units.log().back(), "restart home.mount");
}

// To mount again what was mounted by a unit that is there would end the jobs that use it.
TEST_F(MountTest, WhatIsMountedUnderAUnitThatIsThereIsLeftAlone) {
  ExpectConverges(Step(kHome), {"unit", "state"});
  node_.files.AddFile("/proc/self/mountinfo", "31 22 0:50 / /home rw - nfs4 files:/home rw\n");
  ExpectInSync(Step(kHome));
  ASSERT_OK(Make(Step(kHome))->Apply(observer_));
  EXPECT_EQ(node_.units.log().back(), "start home.mount");
  ExpectConverges(Step(absl::StrCat(kHome, " options: 'noatime'")), {"options"});
  EXPECT_EQ(node_.units.log().back(), "reload home.mount");
}

// A remount may refuse them, and would at each apply.
TEST_F(MountTest, WhatIsMountedAlreadyKeepsItsOptionsUntilTheNextBoot) {
  node_.files.AddFile("/proc/self/mountinfo", "31 22 0:50 / /home rw - nfs4 nfs1:/home rw\n");
  Status("home.mount").active_state = "active";
  ExpectConverges(Step(kHome), {"unit"});
  EXPECT_EQ(node_.units.log().back(), "enable home.mount");
}

TEST_F(MountTest, DefinedIsNotMounted) {
  const std::string defined = Step(absl::StrCat(kHome, " state: MOUNT_STATE_DEFINED"));
  ExpectConverges(defined, {"unit"});
  EXPECT_THAT(node_.units.log(), ElementsAre("daemon-reload"));
  Status("home.mount").active_state = "active";
  ExpectInSync(defined);
  ExpectConverges(Step(kHome), {"at boot"});
  ExpectConverges(defined, {"at boot"});
  EXPECT_EQ(Status("home.mount").active_state, "active");
}

TEST_F(MountTest, AbsentUnmountsAndTakesTheUnitAway) {
  const std::string absent = "mount { path: '/home' state: MOUNT_STATE_ABSENT }";
  ExpectInSync(absent);
  ExpectConverges(Step(kHome), {"unit", "state"});
  ExpectConverges(absent, {"unit", "state"});
  EXPECT_FALSE(node_.files.Has(kFile));
  EXPECT_EQ(Status("home.mount").active_state, "inactive");
  EXPECT_EQ(Status("home.mount").unit_file_state, "disabled");
  Status("home.mount").active_state = "active";  // mounted by hand
  ExpectConverges(absent, {"state"});
}

TEST_F(MountTest, NamesWhatIsWrong) {
  node_.files.AddFile("/etc/fstab", "/dev/sda /\nnfs1:/home /home nfs\n");
  EXPECT_THAT(Make(Step(kHome))->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(node_.files.Remove("/etc/fstab", false));
  node_.units.units["home.mount"].job_error =
      absl::InternalError("starting home.mount: it failed; the end of its journal:\nno route");
  EXPECT_THAT(Make(Step(kHome))->Apply(observer_), StatusIs(absl::StatusCode::kInternal, Said()));
  Status("home.mount").active_state = "active";
  EXPECT_THAT(Make("mount { path: '/home' state: MOUNT_STATE_ABSENT }")->Apply(observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
  const struct {
    const char* spec;
    const char* says;
  } kRows[] = {
      {"path: '/' source: 's' fs_type: 't'", "path: '/'"},
      {"path: '/a/../b' source: 's' fs_type: 't'", "plain form"},
      {"path: '/a\\nb' source: 's' fs_type: 't'", "line break"},
      {"path: '/a' fs_type: 't'", "source: is empty"},
      {"path: '/a' source: 's'", "type: '' is empty"},
      {"path: '/a' source: 's\\\\' fs_type: 't'", "ends with a backslash"},
      {"path: '/a' source: 's' fs_type: 't' options: 'ro,noauto'", "write state: defined"},
      {"path: '/a' source: 's' fs_type: 't' options: 'x-systemd.automount'", "has no effect here"},
      {"path: '/a' source: 's' fs_type: 't' after: 'a'", "write 'a.service'"},
  };
  for (const auto& row : kRows) {
    EXPECT_THAT(TryMake(Step(row.spec)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(row.says))));
  }
  const std::string twice = absl::StrCat("mounts { ", kHome, " } mounts { ", kHome, " }");
  EXPECT_THAT(TryMake(Set(twice)).status(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake(Set("mounts { path: '/a' state: MOUNT_STATE_ABSENT }")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

class MountSetTest : public MountTest {
 protected:
  const std::string home_ = absl::StrCat("mounts { ", kHome, " } ");
  const std::string apps_ = "mounts { path: '/home/apps' source: 'tmpfs' fs_type: 'tmpfs' } ";
};

TEST_F(MountSetTest, UndoesWhatIsTakenOutTheInnerFirst) {
  ExpectConverges(Set(apps_ + home_),
                  {"/home unit", "/home state", "/home/apps unit", "/home/apps state"});
  EXPECT_THAT(node_.units.log(),
              ElementsAre("daemon-reload", "enable home.mount", "start home.mount", "daemon-reload",
                          "enable home-apps.mount", "start home-apps.mount"));
  ExpectConverges(Set(home_), {"/home/apps unit", "/home/apps state"});
  EXPECT_FALSE(node_.files.Has("/etc/systemd/system/home-apps.mount"));
  EXPECT_EQ(Status("home-apps.mount").active_state, "inactive");
  ExpectConverges(Set(home_ + apps_), {"/home/apps unit", "/home/apps state"});
  const size_t before = node_.units.log().size();
  ExpectConverges(Set(""), {"/home/apps unit", "/home/apps state", "/home unit", "/home state"});
  EXPECT_EQ(node_.units.log()[before], "stop home-apps.mount");
  EXPECT_EQ(node_.records.Get("mounts", "shared").value(), std::nullopt);
}

TEST_F(MountSetTest, WhatAnotherTaskHasTakenOverStays) {
  ExpectConverges(Set(home_), {"/home unit", "/home state"});
  ExpectConverges(Step(kHome), {"unit"});
  ExpectInSync(Set(""));
  ASSERT_OK(Make(Set(""))->Apply(observer_));
  EXPECT_TRUE(node_.files.Has(kFile));
  EXPECT_THAT(node_.units.log(), Not(::testing::Contains("stop home.mount")));
}

// A crash after any write: the next run ends like an undisturbed one.
TEST_F(MountSetTest, ACrashAnywhereLosesNothing) {
  for (const std::string& last : {std::string(kFile), std::string("unit")}) {
    SCOPED_TRACE(last);
    const auto crash = [&](const absl::Status& status) {
      if (last == "unit") {
        node_.units.units["home.mount"].job_error = status;
      } else {
        node_.files.FailWrites(last, status);
      }
    };
    for (const std::string& set : {Set(home_), Set("")}) {
      crash(absl::AbortedError("crash"));
      EXPECT_THAT(Make(set)->Apply(observer_), StatusIs(absl::StatusCode::kAborted, Said()));
      crash(absl::OkStatus());
      ASSERT_OK(Make(set)->Apply(observer_));
      ExpectInSync(set);
    }
    EXPECT_FALSE(node_.files.Has(kFile));
    EXPECT_EQ(Status("home.mount").active_state, "inactive");
  }
}

}  // namespace
}  // namespace muster::agent
