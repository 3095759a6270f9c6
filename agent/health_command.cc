#include <iostream>

#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/health/local_report.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxReport = size_t{1} << 20;

}  // namespace

int HealthCommand(const Flags& flags) {
  sys::RealFileSystem files;
  const absl::StatusOr<std::string> text = files.Read(health::kLocalReport, kMaxReport);
  const absl::StatusOr<health::LocalReport> report =
      text.ok() ? health::ParseLocalReport(*text) : text.status();
  const absl::Duration now = health::TimeSinceBoot();
  const health::LocalAnswer answer =
      flags.slurm ? health::AnswerSlurm(report, now) : health::AnswerPerson(report, now);
  std::cout << answer.text;
  return answer.exit_code;
}

}  // namespace muster::agent
