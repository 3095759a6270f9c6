// A small copy of a kernel's files, and what probes need beside it.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/health/probes/probe.h"
#include "agent/health/renewal_trouble.h"
#include "agent/health/trend.h"
#include "common/health/limits.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fakes/fake_unit_manager.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::health {

class HealthTree {
 public:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void Link(const std::string& path, const std::string& target) {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_directory_symlink(target, full);
  }
  const std::string& root() const { return dir_.path(); }

  ProbeContext context() {
    return {.root = root(),
            .processes = &processes,
            .units = &units,
            .clock = &clock,
            .trends = &trends,
            .gpus = &gpus,
            .renewal = &renewal,
            .burnin = "muster-burnin",
            .state_directory = "/state"};
  }

  // What a look found: "nic_down eth1", "unknown gpu_ecc", …
  static std::vector<std::string> Names(const absl::StatusOr<Findings>& findings) {
    std::vector<std::string> names;
    if (!findings.ok()) return {absl::StrCat("error: ", findings.status().message())};
    for (const Finding& finding : findings->troubles)
      names.push_back(absl::StrCat(finding.status == Status::kBad ? "" : "unknown ",
                                   finding.condition, finding.object.empty() ? "" : " ",
                                   finding.object));
    return names;
  }
  std::vector<std::string> Look(Probe& probe) { return Names(probe.Look(limits)); }

  muster::testing::FakeClock clock;
  muster::testing::FakeProcessRunner processes;
  muster::testing::FakeUnitManager units;
  Trends trends;
  GpuNames gpus;
  RenewalTrouble renewal;
  muster::health::Limits limits;

 private:
  muster::testing::TempDir dir_;
};

}  // namespace muster::agent::health
