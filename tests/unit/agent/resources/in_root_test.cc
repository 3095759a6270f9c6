// Resources in a root whose system is not running: the part that lasts, and nothing else.
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// No file of /proc or /sys is there, and no program: whoever looks at the running system fails.
class InRootTest : public ResourceTest {
 protected:
  InRootTest() { node_.context.is_running = false; }

  std::string File(const std::string& path) { return node_.files.At(path).content; }
};

TEST_F(InRootTest, EveryKindHasAnAnswer) {
  const std::vector<std::string> kNothing = {"agent",       "container_image", "controller",
                                             "file_system", "last_reboot",     "pending_reboot",
                                             "reboot",      "slurm_accounts"};
  const std::vector<std::string> kLasting = {"hostname", "kernel_module", "mount", "mounts",
                                             "sysctl",   "sysctls",       "unit"};
  const auto* kinds = v1::Step::descriptor()->FindOneofByName("resource");
  std::vector<std::string> nothing, lasting;
  for (int i = 0; i < kinds->field_count(); ++i) {
    v1::Step step;
    step.GetReflection()->MutableMessage(&step, kinds->field(i));
    const std::string name = kinds->field(i)->name();
    if (InRootOf(step) == InRoot::kNothing) nothing.push_back(name);
    if (InRootOf(step) == InRoot::kLasting) lasting.push_back(name);
  }
  std::sort(nothing.begin(), nothing.end());
  std::sort(lasting.begin(), lasting.end());
  EXPECT_EQ(nothing, kNothing);
  EXPECT_EQ(lasting, kLasting);
}

TEST_F(InRootTest, KernelParametersAreFiles) {
  ExpectConverges("sysctl { key: 'vm.swappiness' value: '10' }", {"at boot"});
  EXPECT_EQ(File("/etc/sysctl.d/60-muster-vm.swappiness.conf"),
            "# Written by Muster.\nvm.swappiness = 10\n");
  ExpectConverges("sysctl { key: 'vm.swappiness' state: PRESENCE_ABSENT }", {"at boot"});
  EXPECT_FALSE(node_.files.Has("/etc/sysctl.d/60-muster-vm.swappiness.conf"));
  ExpectConverges("sysctls { name: 'net' values { key: 'net.core.x' value: '1' } }", {"at boot"});
  EXPECT_FALSE(node_.files.Has("/proc/sys/vm/swappiness"));
}

TEST_F(InRootTest, KernelModulesAreFiles) {
  ExpectConverges("kernel_module { name: 'ib_umad' parameters: 'a=1' }", {"at boot", "options"});
  EXPECT_EQ(File("/etc/modules-load.d/muster-ib_umad.conf"), "# Written by Muster.\nib_umad\n");
  ExpectConverges("kernel_module { name: 'ib_umad' state: KERNEL_MODULE_STATE_BLACKLISTED }",
                  {"at boot", "options"});
  ExpectConverges("kernel_module { name: 'ib_umad' state: KERNEL_MODULE_STATE_ABSENT }",
                  {"options"});
  EXPECT_THAT(node_.processes.commands(), IsEmpty());
}

TEST_F(InRootTest, MountsAreUnits) {
  node_.units.units["scratch.mount"].status.unit_file_state = "disabled";
  ExpectConverges("mount { path: '/scratch' source: 'nfs1:/s' fs_type: 'nfs4' }", {"unit"});
  EXPECT_TRUE(node_.files.Has("/etc/systemd/system/scratch.mount"));
  EXPECT_EQ(node_.units.units["scratch.mount"].status.unit_file_state, "enabled");
  ExpectConverges("mount { path: '/scratch' state: MOUNT_STATE_ABSENT }", {"unit"});
  EXPECT_THAT(node_.units.log(), ElementsAre("daemon-reload", "enable scratch.mount",
                                             "disable scratch.mount", "daemon-reload"));
}

TEST_F(InRootTest, AHostNameIsAFile) {
  ASSERT_OK(node_.files.MakeDirectory("/etc", 0755));
  ExpectConverges("hostname { name: 'c001' }", {"/etc/hostname"});
  EXPECT_EQ(File("/etc/hostname"), "c001\n");
  EXPECT_THAT(node_.processes.commands(), IsEmpty());
}

TEST_F(InRootTest, UnitsAreEnabledAndMaskedAndNeverStarted) {
  node_.units.units["a.service"];
  ExpectConverges("unit { name: 'a.service' enabled: true state: UNIT_STATE_STARTED }",
                  {"enabled"});
  ExpectConverges("unit { name: 'a.service' enabled: true state: UNIT_STATE_RESTARTED }", {});
  ExpectConverges("unit { name: 'a.service' masked: true state: UNIT_STATE_STOPPED }", {"masked"});
  EXPECT_THAT(node_.units.log(), ElementsAre("enable a.service", "mask a.service"));
  const auto missing = Make("unit { name: 'b.service' enabled: true }")->Check();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing.status()));
}

}  // namespace
}  // namespace muster::agent
