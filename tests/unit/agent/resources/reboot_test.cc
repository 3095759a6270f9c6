#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RebootTest : public ResourceTest {
 protected:
  RebootTest() {
    node_.files.AddFile("/proc/sys/kernel/osrelease", "6.1.0-18-cloud-amd64\n");
    node_.files.AddFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz boot=live quiet\n");
  }
  void AddKernel(const std::string& release, bool with_modules = true) {
    node_.files.AddFile("/boot/vmlinuz-" + release, "");
    if (with_modules) node_.files.AddDirectory("/lib/modules/" + release);
  }
  // What on the node asks for a reboot; "" when nothing does.
  std::string Why() {
    const auto changes = Make("reboot {}")->Check();
    EXPECT_OK(changes);
    return changes.ok() && !changes->empty() ? changes->front().after : "";
  }
};

TEST_F(RebootTest, NothingAsksForIt) {
  ExpectInSync("reboot {}");
  AddKernel("6.1.0-18-cloud-amd64");
  AddKernel("6.1.0-9-cloud-amd64");
  ExpectInSync("reboot { when: REBOOT_WHEN_REQUIRED }");
}

TEST_F(RebootTest, AnotherFlavourOfTheSameVersionIsNotNewer) {
  AddKernel("6.1.0-18-rt-amd64");
  EXPECT_EQ(Why(), "");
}

TEST_F(RebootTest, ANewerKernelAsksForItOnceItsModulesAreThere) {
  AddKernel("6.1.0-20-cloud-amd64", /*with_modules=*/false);
  EXPECT_EQ(Why(), "");
  AddKernel("6.1.0-20-cloud-amd64");
  EXPECT_EQ(Why(), "kernel 6.1.0-20-cloud-amd64 is installed but 6.1.0-18-cloud-amd64 is running");
  EXPECT_THAT(Make("reboot { reason: 'update' }")->Check().value(),
              ElementsAre(Change{"reboot", "",
                                 "update: kernel 6.1.0-20-cloud-amd64 is installed but "
                                 "6.1.0-18-cloud-amd64 is running"}));
}

TEST_F(RebootTest, PackagesAskForItInDebiansWay) {
  node_.files.AddFile("/run/reboot-required", "*** System restart required ***\n");
  EXPECT_EQ(Why(), "/run/reboot-required");
  node_.files.AddFile("/run/reboot-required.pkgs", "linux-image-6.1.0-20\nlibc6\n");
  EXPECT_EQ(Why(), "/run/reboot-required (linux-image-6.1.0-20, libc6)");
}

// Its boot loader starts the kernel of the image, and one in memory has lost the packages by then.
TEST_F(RebootTest, ANodeThatRunsAnImageDoesNotRebootForWhatAnotherBootWouldNotHave) {
  AddKernel("6.1.0-20-cloud-amd64");
  node_.files.AddFile("/proc/cmdline", "boot=muster muster.image=worker@1a2b muster.slot=a\n");
  EXPECT_EQ(Why(), "");
  node_.files.AddFile("/run/reboot-required", "*** System restart required ***\n");
  EXPECT_EQ(Why(), "/run/reboot-required") << "its disk keeps what a package or task has changed";
  node_.files.AddFile("/proc/cmdline", "initrd=initrd boot=muster muster.root=http://s/root\n");
  EXPECT_EQ(Why(), "");
  EXPECT_THAT(Make("reboot { when: REBOOT_WHEN_ALWAYS }")->Check().value(),
              ElementsAre(Change{"reboot", "", "the playbook asks for it"}));
}

TEST_F(RebootTest, AlwaysNeedsNoReasonAndStaysSo) {
  const auto reboot = Make("reboot { when: REBOOT_WHEN_ALWAYS }");
  EXPECT_THAT(reboot->Check().value(),
              ElementsAre(Change{"reboot", "", "the playbook asks for it"}));
  ASSERT_OK(reboot->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("reboot"));
  EXPECT_TRUE(reboot->AlwaysChanges());
  EXPECT_FALSE(Make("reboot {}")->AlwaysChanges());
}

TEST_F(RebootTest, AnImageAsksForItWhereAnotherRunsFromTheDisk) {
  const std::string wanted = "reboot { image: 'worker@1a2b3c4d' reason: 'another image' }";
  node_.files.AddFile("/proc/cmdline", "quiet muster.image=worker@1a2b3c4d5e6f muster.slot=a\n");
  // Whatever else asks for a reboot.
  node_.files.AddFile("/run/reboot-required", "");
  ExpectInSync(wanted);
  node_.files.AddFile("/proc/cmdline", "quiet muster.image=worker@998877665544 muster.slot=a\n");
  EXPECT_THAT(Make(wanted)->Check().value(),
              ElementsAre(Change{"reboot", "",
                                 "another image: the node runs worker@998877665544 from its disk, "
                                 "and is to run worker@1a2b3c4d"}));
}

TEST_F(RebootTest, ANodeThatDoesNotRunFromAnImageOnItsDiskGetsNone) {
  node_.files.AddFile("/proc/cmdline", "boot=muster muster.image=worker@1a2b3c4d5e6f\n");
  EXPECT_THAT(Make("reboot { image: 'worker@1a2b3c4d' }")->Check().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// Why such a step says that the node has to reboot; it never finds anything to change.
std::string Pending(Resource& resource) {
  EXPECT_THAT(resource.Check().value(), IsEmpty());
  return dynamic_cast<const RebootFinding&>(resource).why_reboot();
}

TEST_F(RebootTest, APendingRebootIsFoundAndLeftAlone) {
  EXPECT_EQ(Pending(*Make("pending_reboot {}")), "");
  EXPECT_EQ(Pending(*Make("pending_reboot { when: REBOOT_WHEN_ALWAYS reason: 'new driver' }")),
            "new driver");
  AddKernel("6.1.0-20-cloud-amd64");
  const auto pending = Make("pending_reboot {}");
  EXPECT_EQ(Pending(*pending),
            "kernel 6.1.0-20-cloud-amd64 is installed but 6.1.0-18-cloud-amd64 is running");
  ASSERT_OK(pending->Apply(observer_));
  EXPECT_THAT(node_.units.log(), IsEmpty());
}

TEST_F(RebootTest, TheLastRebootEndsOneBootOnly) {
  node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot-1\n");
  const auto last = Make("last_reboot { boot_id: 'boot-1' }");
  EXPECT_EQ(last->Check()->size(), 1u);
  ASSERT_OK(last->Apply(observer_));
  EXPECT_THAT(node_.units.log(), ElementsAre("reboot"));
  node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot-2\n");
  EXPECT_THAT(last->Check().value(), IsEmpty());
  EXPECT_THAT(TryMake("last_reboot {}"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(RebootTest, RefusesAReasonOfSeveralLines) {
  EXPECT_THAT(TryMake("pending_reboot { reason: 'a\\nb' }"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake("reboot { reason: 'a\\nb' }"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::agent
