#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "agent/resources/kernel_parameter.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CanonicalParameter, TakesBothSpellings) {
  EXPECT_EQ(CanonicalParameter("vm.swappiness").value(), "vm.swappiness");
  EXPECT_EQ(CanonicalParameter("vm/swappiness").value(), "vm.swappiness");
  EXPECT_EQ(CanonicalParameter("net/ipv4/conf/eth0.100/forwarding").value(),
            "net.ipv4.conf.eth0/100.forwarding");
  EXPECT_EQ(CanonicalParameter("net.ipv4.conf.eth0/100.forwarding").value(),
            "net.ipv4.conf.eth0/100.forwarding");
  for (const char* bad : {"", "swappiness", "vm.", ".vm", "vm..a", "vm/../../etc/passwd", "vm.//.a",
                          "-vm.a", "vm.a b", "vm.a=1", "net.*.a", "vm.a\n"}) {
    EXPECT_FALSE(CanonicalParameter(bad).ok()) << bad;
  }
}

TEST(FindParameter, ReadsAFileAsSystemdDoes) {
  constexpr char kText[] =
      "# vm.swappiness = 1\n;vm.swappiness = 2\nvm/swappiness=3\n -vm.swappiness = 4  5 \n"
      "vm.* = 6\n-vm.swappiness\nnet/ipv4/conf/eth0.100/forwarding = 7\n";
  const auto found = FindParameter(kText, "vm.swappiness");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number, 4);
  EXPECT_EQ(found->value, "4 5");
  EXPECT_EQ(FindParameter(kText, "net.ipv4.conf.eth0/100.forwarding")->number, 7);
  EXPECT_FALSE(FindParameter(kText, "vm.dirty_ratio").has_value());
}

constexpr char kBoth[] =
    "sysctls { name: 'net' values { key: 'vm.swappiness' value: '10' } "
    "values { key: 'net.ipv4.tcp_rmem' value: '1 2 3' } }";
constexpr char kOne[] = "sysctls { name: 'net' values { key: 'vm.swappiness' value: '10' } }";

class SysctlTest : public ResourceTest {
 protected:
  SysctlTest() {
    Set("vm/swappiness", "60\n");
    Set("net/ipv4/tcp_rmem", "4096\t87380\t6291456\n");
  }
  void Set(const std::string& name, const std::string& value, mode_t mode = 0644) {
    node_.files.AddFile("/proc/sys/" + name, value, mode);
  }
  std::string Now(const std::string& name) {
    return CanonicalValue(node_.files.At("/proc/sys/" + name).content);
  }
  bool HasFile(const std::string& name) {
    return node_.files.Has(absl::StrCat("/etc/sysctl.d/60-muster-", name, ".conf"));
  }
  std::string File(const std::string& name) {
    return node_.files.At(absl::StrCat("/etc/sysctl.d/60-muster-", name, ".conf")).content;
  }
};

TEST_F(SysctlTest, SetsNowAndAtBoot) {
  ExpectConverges("sysctl { key: 'vm/swappiness' value: '10' }", {"vm.swappiness", "at boot"});
  EXPECT_EQ(Now("vm/swappiness"), "10");
  EXPECT_EQ(File("vm.swappiness"), "# Written by Muster.\nvm.swappiness = 10\n");
  ExpectInSync("sysctl { key: 'vm.swappiness' value: ' 10 ' }");
  Set("vm/swappiness", "60\n");
  ExpectConverges("sysctl { key: 'vm.swappiness' value: '10' }", {"vm.swappiness"});
  ExpectConverges("sysctl { key: 'net.ipv4.tcp_rmem' value: '4096  87380 6291456' }", {"at boot"});
}

// The boot would undo it.
TEST_F(SysctlTest, AFileThatTheBootReadsLaterIsRefused) {
  const char* const kStep = "sysctl { key: 'vm.swappiness' value: '10' }";
  node_.files.AddFile("/etc/sysctl.conf", "#vm.swappiness=5\nvm/swappiness = 60\n");
  node_.files.AddLink("/etc/sysctl.d/99-sysctl.conf", "/etc/sysctl.conf");
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Make(kOne)->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("99-sysctl.conf")));
  ExpectInSync("sysctl { key: 'vm.swappiness' state: PRESENCE_ABSENT }");
  // The last one counts.
  node_.files.AddFile("/usr/lib/sysctl.d/zz-site.conf", "vm.swappiness = 10\n");
  ExpectConverges(kStep, {"vm.swappiness", "at boot"});
  // Hidden by a file of its name.
  node_.files.AddFile("/run/sysctl.d/zz-site.conf", "");
  EXPECT_FALSE(Make(kStep)->Check().ok());
  node_.files.AddFile("/etc/sysctl.conf", "vm.swappiness = 10\n");
  ExpectInSync(kStep);
  // Those before it, and those of other sets, which may be about to give the key away.
  node_.files.AddFile("/usr/lib/sysctl.d/50-default.conf", "vm.swappiness = 60\n");
  node_.files.AddFile("/etc/sysctl.d/60-muster-zz.conf", "vm.swappiness = 20\n");
  node_.files.AddFile("/etc/sysctl.d/99-notes.txt", "vm.swappiness = 20\n");
  ExpectInSync(kStep);
}

TEST_F(SysctlTest, AbsentGoesBackToWhatWasBefore) {
  ExpectInSync("sysctl { key: 'vm.swappiness' state: PRESENCE_ABSENT }");
  ExpectConverges("sysctl { key: 'vm.swappiness' value: '10' }", {"vm.swappiness", "at boot"});
  ExpectConverges("sysctl { key: 'vm.swappiness' value: '20' }", {"vm.swappiness", "at boot"});
  ExpectConverges("sysctl { key: 'vm.swappiness' state: PRESENCE_ABSENT }",
                  {"vm.swappiness", "at boot"});
  EXPECT_EQ(Now("vm/swappiness"), "60");
  EXPECT_FALSE(HasFile("vm.swappiness"));
  EXPECT_EQ(node_.records.Get("sysctl", "vm.swappiness").value(), std::nullopt);
}

TEST_F(SysctlTest, NamesWhatCannotBe) {
  Set("kernel/osrelease", "6.1\n", 0444);
  Set("vm/compact_memory", "", 0200);
  node_.files.FailWrites("/proc/sys/vm/swappiness", absl::InvalidArgumentError("Invalid argument"));
  const struct {
    const char* key;
    absl::StatusCode code;
    const char* says;
  } kRows[] = {
      {"net.bridge.x", absl::StatusCode::kFailedPrecondition,
       "load that in an earlier task (kernel_module)"},
      {"net.ipv4", absl::StatusCode::kInvalidArgument, "is a folder"},
      {"kernel.osrelease", absl::StatusCode::kInvalidArgument, "is read-only; it is 6.1"},
      {"vm.compact_memory", absl::StatusCode::kInvalidArgument, "is write-only"},
      {"vm.swappiness", absl::StatusCode::kInvalidArgument,
       "the kernel does not accept '1' for vm.swappiness"},
  };
  for (const auto& row : kRows) {
    const auto resource = Make(absl::StrCat("sysctl { key: '", row.key, "' value: '1' }"));
    EXPECT_THAT(resource->Apply(observer_), StatusIs(row.code, AllOf(Said(), HasSubstr(row.says))));
    EXPECT_FALSE(HasFile(row.key)) << "a value that is refused must not come back at boot";
  }
  ExpectConverges("sysctl { key: 'kernel.osrelease' value: '6.1' }", {"at boot"});
  EXPECT_THAT(TryMake("sysctl { key: 'a.b' value: 'x\\ny' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake("sysctls { name: 'a.b' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake("sysctls { name: 'a' values { key: 'a.b' } values { key: 'a/b' } }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(SysctlTest, ASetUndoesWhatIsTakenOut) {
  ExpectConverges(kBoth, {"net.ipv4.tcp_rmem", "vm.swappiness", "at boot"});
  EXPECT_EQ(File("net"), "# Written by Muster.\nnet.ipv4.tcp_rmem = 1 2 3\nvm.swappiness = 10\n");
  ExpectConverges(kOne, {"net.ipv4.tcp_rmem", "at boot"});
  EXPECT_EQ(Now("net/ipv4/tcp_rmem"), "4096 87380 6291456");
  ExpectConverges("sysctls { name: 'net' }", {"vm.swappiness", "at boot"});
  EXPECT_EQ(Now("vm/swappiness"), "60");
  EXPECT_FALSE(HasFile("net"));
  EXPECT_EQ(node_.records.Get("sysctls", "net").value(), std::nullopt);
}

TEST_F(SysctlTest, ASetForgetsWhatTheKernelNoLongerHas) {
  ExpectConverges(kBoth, {"net.ipv4.tcp_rmem", "vm.swappiness", "at boot"});
  ASSERT_OK(node_.files.Remove("/proc/sys/net/ipv4/tcp_rmem", false));
  ExpectConverges(kOne, {"at boot"});
}

// Ubuntu's kernel has the parameter that restricts user namespaces only while AppArmor is on.
TEST_F(SysctlTest, AParameterThatTheKernelMayLackIsSetWhereItIs) {
  constexpr char kMayLack[] =
      "sysctls { name: 'net' values { key: '-kernel.restricted' value: '0' } "
      "values { key: 'vm.swappiness' value: '10' } }";
  ExpectConverges(kMayLack, {"vm.swappiness", "at boot"});
  EXPECT_EQ(File("net"), "# Written by Muster.\n-kernel.restricted = 0\nvm.swappiness = 10\n");
  Set("kernel/restricted", "1\n");
  ExpectConverges(kMayLack, {"kernel.restricted"});
  ExpectConverges(kOne, {"kernel.restricted", "at boot"});
  EXPECT_EQ(Now("kernel/restricted"), "1");
}

TEST_F(SysctlTest, WhatAnotherSetHasTakenOverStays) {
  ExpectConverges(kOne, {"vm.swappiness", "at boot"});
  ExpectConverges("sysctl { key: 'vm.swappiness' value: '10' }", {"at boot"});
  ExpectConverges("sysctls { name: 'net' }", {"at boot"});
  EXPECT_EQ(Now("vm/swappiness"), "10");
}

// Whichever write is the last one before a crash, the next run ends like an undisturbed one, and
// still knows the previous values.
TEST_F(SysctlTest, ACrashAnywhereLosesNothing) {
  for (const char* last : {"/proc/sys/vm/swappiness", "/etc/sysctl.d/60-muster-net.conf"}) {
    SCOPED_TRACE(last);
    node_.files.FailWrites(last, absl::AbortedError("crash"));
    EXPECT_THAT(Make(kOne)->Apply(observer_), StatusIs(absl::StatusCode::kAborted, Said()));
    node_.files.FailWrites(last, absl::OkStatus());
    ASSERT_OK(Make(kOne)->Apply(observer_));
    ExpectInSync(kOne);
    node_.files.FailWrites(last, absl::AbortedError("crash"));
    EXPECT_THAT(Make("sysctls { name: 'net' }")->Apply(observer_),
                StatusIs(absl::StatusCode::kAborted, Said()));
    node_.files.FailWrites(last, absl::OkStatus());
    ASSERT_OK(Make("sysctls { name: 'net' }")->Apply(observer_));
    ExpectInSync("sysctls { name: 'net' }");
    EXPECT_EQ(Now("vm/swappiness"), "60");
    EXPECT_FALSE(HasFile("net"));
  }
}

}  // namespace
}  // namespace muster::agent
