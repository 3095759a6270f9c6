#include "agent/image/image_files.h"

#include "absl/strings/str_cat.h"
#include "agent/facts/gather.h"
#include "agent/facts/probe.h"
#include "common/base/status.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {

absl::StatusOr<v1::Plan> ReadPlan(const std::string& path, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string bytes, files.Read(path));
  v1::Plan plan;
  if (!plan.ParseFromString(bytes))
    return absl::DataLossError(absl::StrCat(path, " is not a serialized muster.v1.Plan"));
  return plan;
}

absl::Status WriteReport(const v1::ImageApplyReport& report, const std::string& path,
                         sys::FileSystem& files) {
  return files.WriteAtomically(path, report.SerializeAsString(), {.mode = 0644});
}

absl::StatusOr<std::string> SerializedRootFacts(sys::ProcessRunner& processes, Clock& clock) {
  FactsGatherer gatherer({.processes = &processes, .is_running = false}, RootProbes(), clock);
  const v1::Facts facts = gatherer.Gather();
  if (facts.has_os()) return facts.SerializeAsString();
  for (const v1::UnknownFact& unknown : facts.unknown())
    if (unknown.probe() == "os") return absl::FailedPreconditionError(unknown.reason());
  return absl::InternalError("the root's system is unknown");
}

}  // namespace muster::agent
