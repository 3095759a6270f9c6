#include "common/wire/message_rules.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fixtures/field_walk.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::wire {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::muster::testing::FieldPath;
using ::muster::testing::StatusIs;
using ::muster::testing::TextFields;
using ::muster::testing::WalkFields;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Facts of real machines.
v1::Facts HonestFacts() {
  v1::Facts facts;
  facts.mutable_gathered_at()->set_seconds(1'764'000'000);
  v1::UnknownFact& unknown = *facts.add_unknown();
  unknown.set_probe("pci_devices");
  unknown.set_reason(
      "libnvidia-ml.so.1: cannot open shared object file: No such file or directory");
  v1::OsFacts& os = *facts.mutable_os();
  os.set_id("opensuse-leap");
  os.set_version_id("15.6");
  os.set_codename("bookworm");
  os.set_pretty_name("Debian GNU/Linux 12 (bookworm) „Ökö“");
  os.set_kernel("6.1.0-40-amd64+rt1~bpo12");
  os.set_architecture("x86_64");
  os.set_boot_id("0c5e7e0a-0a1c-4f5e-8d0a-3b1f6f2c9d11");
  os.set_hostname("gpu-node_7.cluster.example.org");
  os.set_virtualization("systemd-nspawn");
  os.set_package_architecture("amd64");
  os.set_next_kernel("6.1.0-41-amd64+rt1~bpo12");
  os.mutable_booted_at()->set_seconds(1'763'000'000);
  os.set_kernel_arguments("BOOT_IMAGE=/vmlinuz root=UUID=1b-2c ro quiet cmdline=\"a b\" µ");
  v1::CpuFacts& cpu = *facts.mutable_cpu();
  cpu.set_model("Intel® Xeon® Gold 6230 CPU @ 2.10GHz");
  cpu.set_cpus(1024);
  cpu.set_boards(1);
  cpu.set_sockets(8);
  cpu.set_cores_per_socket(64);
  cpu.set_threads_per_core(2);
  facts.mutable_memory()->set_total_mib(uint64_t{64} << 20);
  v1::DiskFacts& disk = *facts.add_disks();
  disk.set_name("cciss!c0d0");
  disk.set_size_bytes(uint64_t{1} << 50);
  disk.set_model("WDC WD4003FFBX-68MU3N0 [SED] \"Gold\" #7");
  disk.set_serial("S/N: V1;2=3");
  disk.set_firmware("GXA7 301Q");
  v1::NicFacts& ib = *facts.add_nics();
  ib.set_name("ib0.8001");
  ib.set_mac("00:00:10:29:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:d6:9c:1e");
  ib.set_kind("infiniband");
  ib.set_speed_mbits_per_s(400'000);
  ib.set_mtu(4092);
  ib.add_addresses("10.0.0.11/24");
  ib.add_addresses("fd00:1234:5678:9abc:def0:1234:5678:9abc/64");
  ib.set_pci_address("10000:e1:00.0");
  ib.set_driver("mlx5_core");
  ib.set_firmware("20.31.1014 (MT_0000000223)");
  v1::PciDeviceFacts& pci = *facts.add_pci_devices();
  pci.set_address("0000:3b:00.0");
  pci.set_vendor_id("10de");
  pci.set_class_code("030200");
  pci.set_numa_node(-1);
  v1::GpuFacts& gpu = *facts.add_gpus();
  gpu.set_uuid("MIG-GPU-5d6a2c7b-8c39-0d2f-1111-222233334444/1/0");
  gpu.set_name("NVIDIA GeForce RTX 2080 Ti (rev. A) / Max-Q");
  gpu.set_slurm_type("rtx_2080_ti");
  gpu.set_memory_mib(81'559);
  gpu.set_pci_address("0000:3b:00.0");
  gpu.set_serial("1320620012345");
  gpu.set_device_path("/dev/nvidia-caps/nvidia-cap12");
  gpu.set_vbios_version("96.00.74.00.01");
  gpu.set_power_limit_watts(1000.5);
  gpu.add_local_cores()->set_last(15);
  facts.set_nvidia_driver_version("535.261.03");
  facts.mutable_slurm()->set_version("24.11.5-4+deb13u1");
  facts.mutable_slurm()->set_slurmd_c(
      "NodeName=c001 CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 "
      "RealMemory=192000 Gres=gpu:nvidia_geforce_rtx_2080_ti:4");
  facts.mutable_slurm()->set_slurmd_pid(4'194'304);
  facts.mutable_slurm()->set_slurmd_invocation("5f0c11ab9e1d4c6a8f3b2d7e6a905c14");
  facts.mutable_slurm()->set_gpu_autodetect("nvml");
  v1::MountFacts& mount = *facts.add_mounts();
  mount.set_source("//nas/Group share (alt)$");
  mount.set_target("/var/lib/docker/überlay2/\"x\"/merged");
  mount.set_type("fuse.sshfs");
  mount.set_options(absl::StrCat("rw,relatime,lowerdir=", std::string(4000, 'l')));
  facts.mutable_cgroup()->set_version(2);
  facts.mutable_cgroup()->add_controllers("cpuset");
  v1::SshHostKey& key = *facts.add_ssh_host_keys();
  key.set_type("ecdsa-sha2-nistp256");
  key.set_key("AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBF996KWqopy/vynyLALG37i/Ng==");
  v1::MachineFacts& machine = *facts.mutable_machine();
  machine.set_vendor("GIGABYTE™ (To be filled by O.E.M.)");
  machine.set_product("G292-Z20-00/MZ22-G20-00");
  machine.set_bios_version("R20_F10a");
  machine.set_bios_date("10/27/2023");
  machine.set_microcode("0x2b000590");
  v1::NeighborFacts& neighbor = *facts.add_neighbors();
  neighbor.set_interface("enp1s0f0np0");
  neighbor.set_system("leaf-03.mgmt (Rack №3)");
  neighbor.set_port("Ethernet1/7/1");
  facts.set_infiniband_ports(2);
  facts.mutable_packages()->set_count(1204);
  facts.mutable_packages()->set_digest(std::string(64, 'a'));
  return facts;
}

std::string RuleName(const FieldDescriptor& field) {
  return field.full_name().substr(std::string("muster.v1.").size());
}

TEST(MessageRulesTest, EveryFieldOfFactsHasARule) {
  WalkFields(*v1::Facts::descriptor(), [](const FieldPath& path) {
    if (absl::StartsWith(path.field().full_name(), "google.")) return;
    EXPECT_NE(RuleOf(path.field()), nullptr) << RuleName(path.field());
  });
}

TEST(MessageRulesTest, EveryTextAndListOfAgentsHasARule) {
  WalkFields(*v1::AgentMessage::descriptor(), [](const FieldPath& path) {
    const FieldDescriptor& field = path.field();
    const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!is_text && !field.is_repeated()) return;
    const FieldRule* rule = RuleOf(field);
    ASSERT_NE(rule, nullptr) << RuleName(field);
    EXPECT_EQ(rule->max_elements > 0, field.is_repeated()) << RuleName(field);
    EXPECT_EQ(rule->max_bytes > 0, is_text) << RuleName(field);
    const bool is_free = rule->letters == Letters::kText || rule->letters == Letters::kLine;
    EXPECT_GE(rule->max_bytes, is_free ? 8 : 0) << RuleName(field);
  });
}

TEST(MessageRulesTest, EveryRuleHasItsField) {
  std::set<std::string> fields;
  WalkFields(*v1::AgentMessage::descriptor(),
             [&](const FieldPath& path) { fields.insert(RuleName(path.field())); });
  std::set<std::string> seen;
  for (const auto& table : {FactsRules(), NodeRules()}) {
    for (const FieldRule& rule : table) {
      EXPECT_EQ(fields.count(std::string(rule.field)), 1u) << rule.field;
      EXPECT_TRUE(seen.insert(std::string(rule.field)).second) << rule.field << " twice";
    }
  }
}

TEST(MessageRulesTest, HonestMachinesAreNotRefused) {
  EXPECT_OK(Check(HonestFacts()));
  EXPECT_OK(Check(v1::Facts()));
  v1::Facts fitted = HonestFacts();
  Fit(fitted, [](absl::string_view field, absl::string_view what) {
    ADD_FAILURE() << field << " " << what;
  });
  EXPECT_EQ(fitted.SerializeAsString(), HonestFacts().SerializeAsString());
}

TEST(MessageRulesTest, TheBreachIsNamedByItsFieldAndNotRepeated) {
  using Break = void (*)(v1::Facts&);
  const std::pair<Break, const char*> kCases[] = {
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_slurm_type("a\nProlog=/tmp/x"); },
       "gpus[0].slurm_type: not only letters, digits and '_.-'"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->clear_slurm_type(); }, "gpus[0].slurm_type: missing"},
      {[](v1::Facts& f) { f.mutable_ssh_host_keys(0)->set_key("AAAA\nlogin1 ssh-rsa BBBB"); },
       "ssh_host_keys[0].key: not only letters, digits and '+/='"},
      {[](v1::Facts& f) { f.mutable_ssh_host_keys(0)->set_type("* ssh-rsa"); },
       "ssh_host_keys[0].type: not only letters, digits and '._-+:~'"},
      {[](v1::Facts& f) { f.mutable_ssh_host_keys(0)->clear_key(); },
       "ssh_host_keys[0].key: missing"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_device_path("/dev/../etc/shadow"); },
       "gpus[0].device_path: not a path below /dev"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_device_path("/dev/"); },
       "gpus[0].device_path: not a path below /dev"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_device_path("/etc/shadow"); },
       "gpus[0].device_path: not a path below /dev"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_name("\x1b]0;x\x07"); },
       "gpus[0].name: contains control characters"},
      {[](v1::Facts& f) { f.mutable_gpus(0)->set_power_limit_watts(std::nan("")); },
       "gpus[0].power_limit_watts: not a number"},
      {[](v1::Facts& f) { f.mutable_neighbors(0)->set_system("leaf\x1b[2J"); },
       "neighbors[0].system: contains control characters"},
      {[](v1::Facts& f) { f.mutable_neighbors(0)->clear_interface(); },
       "neighbors[0].interface: missing"},
      {[](v1::Facts& f) { f.mutable_cpu()->set_cpus(70'000); }, "cpu.cpus: 70000; from 1 to 65533"},
      {[](v1::Facts& f) { f.mutable_memory()->set_total_mib(~uint64_t{0}); },
       "memory.total_mib: 1.84467e+19; from 1 to 1.09951e+12"},
      {[](v1::Facts& f) { f.mutable_os()->set_pretty_name(std::string(300, 'x')); },
       "os.pretty_name: 300 bytes; at most 256"},
      {[](v1::Facts& f) { f.mutable_nics(0)->add_addresses(""); },
       "nics[0].addresses[2]: an empty text"},
      {[](v1::Facts& f) { f.mutable_nics(0)->set_addresses(1, "10.0.0.1/24 c003"); },
       "nics[0].addresses[1]: not only letters, digits and '.:/'"},
      {[](v1::Facts& f) { f.mutable_os()->mutable_booted_at()->set_seconds(1LL << 60); },
       "os.booted_at: not a time"},
      {[](v1::Facts& f) {
         for (int i = 0; i < 2048; ++i) f.add_mounts();
       },
       "mounts: 2049 elements; at most 2048"},
  };
  for (const auto& [spoil, breach] : kCases) {
    v1::Facts facts = HonestFacts();
    spoil(facts);
    EXPECT_THAT(Check(facts), StatusIs(absl::StatusCode::kInvalidArgument, breach));
    // The agent that finds a breach loses that value, and nothing else.
    std::vector<std::string> told;
    Fit(facts, [&](absl::string_view field, absl::string_view) { told.emplace_back(field); });
    EXPECT_OK(Check(facts)) << breach;
    const bool is_cleaned = absl::StrContains(breach, "control") ||
                            absl::StrContains(breach, "pretty_name") ||
                            absl::StrContains(breach, "not a ");
    if (!is_cleaned || absl::StrContains(breach, "/dev")) {
      EXPECT_THAT(told, Not(IsEmpty())) << breach;
    }
    EXPECT_EQ(facts.os().kernel(), HonestFacts().os().kernel());
  }
}

TEST(MessageRulesTest, WhatIsNothingWithoutItsFieldGoesWithIt) {
  v1::Facts facts = HonestFacts();
  *facts.add_gpus() = facts.gpus(0);
  facts.mutable_gpus(0)->set_slurm_type("not a type");
  facts.mutable_gpus(1)->set_uuid("GPU-2");
  facts.mutable_gpus(1)->set_serial("a\nb");
  std::vector<std::string> told;
  Fit(facts, [&](absl::string_view field, absl::string_view what) {
    told.push_back(absl::StrCat(field, ": ", what));
  });
  EXPECT_THAT(told, ElementsAre("gpus: slurm_type: not only letters, digits and '_.-'"));
  ASSERT_EQ(facts.gpus_size(), 1);
  EXPECT_EQ(facts.gpus(0).uuid(), "GPU-2");
  EXPECT_EQ(facts.gpus(0).serial(), "a b");
}

// A value that is not a number was not measured; a 0 in its place would fail the node.
TEST(MessageRulesTest, ElementsWithoutANumberGo) {
  v1::AgentMessage message;
  v1::CheckResult& result = *message.mutable_check_report()->mutable_result();
  result.add_metrics()->set_value(std::nan(""));
  result.add_metrics()->set_value(7);
  result.add_metrics()->set_value(std::numeric_limits<double>::infinity());
  result.set_seconds(-std::numeric_limits<double>::infinity());
  result.set_outcome(static_cast<v1::Outcome>(77));
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1000, "new");
  Clean(message);
  ASSERT_EQ(result.metrics_size(), 1);
  EXPECT_EQ(result.metrics(0).value(), 7);
  EXPECT_EQ(result.seconds(), 0);
  EXPECT_EQ(result.outcome(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_TRUE(message.GetReflection()->GetUnknownFields(message).empty());
  EXPECT_OK(Check(message));
}

TEST(MessageRulesTest, OutputKeepsItsLinesAndLosesItsColors) {
  v1::AgentMessage message;
  v1::StepResult& step = *message.mutable_reports()->add_reports()->mutable_step();
  step.set_output("\x1b[1;31mE:\x1b[0m no package\tmünge\r\n50%\r100%\nend");
  step.set_name("install\nmunge");
  step.set_status(v1::STEP_STATUS_FAILED);
  Clean(message);
  EXPECT_OK(Check(message));
  EXPECT_EQ(step.output(), "E: no package\tmünge\n50%\n100%\nend");
  EXPECT_EQ(step.name(), "install munge");
}

// It is counted by its status; one without could come without end.
TEST(MessageRulesTest, AResultHasAStatus) {
  v1::AgentMessage message;
  v1::StepResult& step = *message.mutable_reports()->add_reports()->mutable_step();
  for (const int status : {0, 77}) {
    step.set_status(static_cast<v1::StepStatus>(status));
    Clean(message);
    EXPECT_EQ(Check(message).message(), "reports.reports[0].step.status: missing");
  }
  step.set_status(v1::STEP_STATUS_SKIPPED);
  EXPECT_OK(Check(message));
}

// Walks over every text of every message, as far as the rules alone go; the test with a whole
// controller covers the effects in files, on terminals and on pages.
TEST(MessageRulesTest, NoTextOfAnAgentCarriesWhatSteers) {
  const std::string kPoisons[] = {
      "x\nHealthCheckProgram=/tmp/evil\nNodeName=c003",
      "x\r\nProlog=/tmp/evil",
      "\"quoted\" 'and' `not` \\",
      "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b",
      "\xc2\x9b"
      "31m \xe2\x80\xae abc \xe2\x80\xa8",
      "<script>alert(1)</script>",
      "{{ secret('munge') }}{% for x in range(99999999) %}",
      std::string("nul\0nul", 7),
      std::string(1 << 20, 'x'),
      std::string(1 << 20, '\n'),
      "\xff\xfe not UTF-8",
  };
  int refused = 0, cleaned = 0;
  for (const FieldPath& path : TextFields(*v1::AgentMessage::descriptor())) {
    SCOPED_TRACE(path.name());
    const FieldRule& rule = *RuleOf(path.field());
    for (const std::string& poison : kPoisons) {
      v1::AgentMessage message;
      path.SetText(message, poison);
      const bool is_facts = message.has_facts();
      if (is_facts && path.name() != "facts.facts.gpus.slurm_type") {
        for (v1::GpuFacts& gpu : *message.mutable_facts()->mutable_facts()->mutable_gpus())
          gpu.set_slurm_type("a100");
      }
      if (message.has_hello() && message.hello().boot_id().empty())
        message.mutable_hello()->set_boot_id("b1");
      if (message.has_health() && path.name() != "health.conditions.name") {
        for (v1::Condition& condition : *message.mutable_health()->mutable_conditions())
          condition.set_name("disk_full");
      }
      for (int i = 0; i < message.reports().reports_size(); ++i) {
        v1::Report& report = *message.mutable_reports()->mutable_reports(i);
        if (report.has_step()) report.mutable_step()->set_status(v1::STEP_STATUS_OK);
        if (!report.step().has_reboot_pending()) continue;
        v1::PendingReboot& pending = *report.mutable_step()->mutable_reboot_pending();
        if (pending.boot_id().empty()) pending.set_boot_id("b1");
        if (pending.reason().empty()) pending.set_reason("kernel");
      }
      if (!is_facts) Clean(message);
      if (!Check(message).ok()) {
        ++refused;
        const bool is_free = rule.letters == Letters::kText || rule.letters == Letters::kLine;
        EXPECT_TRUE(is_facts || !is_free) << "people would lose what their node said";
        continue;
      }
      ++cleaned;
      const google::protobuf::Message& owner = *path.Owner(message);
      const google::protobuf::Reflection& reflection = *owner.GetReflection();
      std::string text;
      if (!path.field().is_repeated()) {
        text = reflection.GetString(owner, &path.field());
      } else if (reflection.FieldSize(owner, &path.field()) > 0) {
        text = reflection.GetRepeatedString(owner, &path.field(), 0);
      }
      EXPECT_LE(text.size(), rule.max_bytes);
      EXPECT_TRUE(IsPlain(text, rule.letters == Letters::kText ? Lines::kMany : Lines::kOne));
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(cleaned, 300);
}

}  // namespace
}  // namespace muster::wire
