#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KernelModuleTest : public ResourceTest {
 protected:
  KernelModuleTest() {
    node_.files.AddFile("/proc/sys/kernel/osrelease", "6.1.0-18\n");
    node_.files.AddFile("/lib/modules/6.1.0-18/modules.builtin",
                        "kernel/fs/ext4/ext4.ko\nkernel/drivers/md/md-mod.ko\n");
    node_.processes.On("modprobe --dry-run", FakeProcessRunner::Prints(""));
    node_.processes.On("modprobe --dry-run none",
                       FakeProcessRunner::Prints("modprobe: FATAL: Module none not found\n", 1));
    node_.processes.On("modprobe br_netfilter", [this](const sys::ProcessSpec&) {
      AddModule("br_netfilter", "0");
      return sys::ProcessResult();
    });
    node_.processes.On("modprobe --remove br_netfilter", [this](const sys::ProcessSpec&) {
      EXPECT_OK(node_.files.Remove("/sys/module/br_netfilter", true));
      return sys::ProcessResult();
    });
  }
  void AddModule(const std::string& name, const std::string& users) {
    node_.files.AddFile(absl::StrCat("/sys/module/", name, "/initstate"), "live\n");
    node_.files.AddFile(absl::StrCat("/sys/module/", name, "/refcnt"), users + "\n");
  }
  std::string LoadFile() {
    return node_.files.At("/etc/modules-load.d/muster-br_netfilter.conf").content;
  }
  std::string OptionFile() {
    return node_.files.At("/etc/modprobe.d/muster-br_netfilter.conf").content;
  }
};

TEST_F(KernelModuleTest, ChecksThenConverges) {
  ExpectConverges("kernel_module { name: 'br-netfilter' }", {"state", "at boot"});
  EXPECT_EQ(LoadFile(), "# Written by Muster.\nbr_netfilter\n");
  ExpectConverges("kernel_module { name: 'br_netfilter' parameters: 'a=1' parameters: 'b' }",
                  {"options"});
  EXPECT_EQ(OptionFile(), "# Written by Muster.\noptions br_netfilter a=1 b\n");
  ExpectConverges("kernel_module { name: 'br_netfilter' state: KERNEL_MODULE_STATE_BLACKLISTED }",
                  {"state", "at boot", "options"});
  EXPECT_EQ(OptionFile(), "# Written by Muster.\nblacklist br_netfilter\n");
  EXPECT_FALSE(node_.files.Has("/sys/module/br_netfilter"));
  ExpectConverges("kernel_module { name: 'br_netfilter' state: KERNEL_MODULE_STATE_ABSENT }",
                  {"options"});
  EXPECT_FALSE(node_.files.Has("/etc/modprobe.d/muster-br_netfilter.conf"));
}

TEST_F(KernelModuleTest, OptionsAreThereBeforeTheModule) {
  node_.processes.On("modprobe br_netfilter", [this](const sys::ProcessSpec&) {
    EXPECT_THAT(OptionFile(), HasSubstr("a=1"));
    AddModule("br_netfilter", "0");
    return sys::ProcessResult();
  });
  ExpectConverges("kernel_module { name: 'br_netfilter' parameters: 'a=1' }",
                  {"state", "at boot", "options"});
}

TEST_F(KernelModuleTest, LeavesWhatIsInUse) {
  AddModule("nouveau", "3");
  ExpectConverges("kernel_module { name: 'nouveau' state: KERNEL_MODULE_STATE_BLACKLISTED }",
                  {"options"});
  EXPECT_TRUE(node_.processes.commands().empty());
}

TEST_F(KernelModuleTest, ChecksWithoutLoading) {
  EXPECT_THAT(Fields(*Make("kernel_module { name: 'br_netfilter' }")),
              ElementsAre("state", "at boot"));
  EXPECT_THAT(node_.processes.commands(), ElementsAre("modprobe --dry-run br_netfilter"));
  EXPECT_TRUE(node_.files.log().empty());
}

TEST_F(KernelModuleTest, WhatIsBuiltIn) {
  node_.files.AddFile("/sys/module/kvm/parameters/x", "1\n");
  ExpectConverges("kernel_module { name: 'md_mod' }", {"at boot"});
  ExpectConverges("kernel_module { name: 'kvm' }", {"at boot"});
  EXPECT_TRUE(node_.processes.commands().empty());
  EXPECT_THAT(Make("kernel_module { name: 'kvm' parameters: 'x=0' }")->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(
      Make("kernel_module { name: 'ext4' state: KERNEL_MODULE_STATE_BLACKLISTED }")->Check(),
      StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(KernelModuleTest, NamesWhatIsWrong) {
  EXPECT_THAT(Make("kernel_module { name: 'none' }")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  node_.processes.On("modprobe br_netfilter",
                     FakeProcessRunner::Prints("modprobe: ERROR: Key was rejected\n", 1));
  EXPECT_THAT(Make("kernel_module { name: 'br_netfilter' }")->Apply(observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_THAT(TryMake("kernel_module { name: 'a.ko' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake("kernel_module { name: 'a/b' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(TryMake("kernel_module { name: 'a' parameters: 'x\\ny' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(KernelModuleTest, NeedsModprobe) {
  testing::FakeNode bare;
  bare.files.AddFile("/proc/sys/kernel/osrelease", "6.1.0-18\n");
  v1::Step step;
  step.mutable_kernel_module()->set_name("a");
  EXPECT_THAT(MakeResource(step, bare.context, false).value()->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent
