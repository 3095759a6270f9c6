#include "agent/health/probes/site_probe.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent::health {
namespace {

// What it takes to end a program and its scope.
constexpr absl::Duration kEnding = absl::Seconds(30);

constexpr uint32_t kOk = 0;
constexpr uint32_t kBad = 1;

std::string FirstLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return std::string(text.substr(0, text.find('\n')));
}

class SiteProbe final : public Probe {
 public:
  SiteProbe(SiteCondition site, RunSiteCommand run)
      : site_(std::move(site)), run_(std::move(run)) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    const v1::CommandEnd end = run_(SiteCommand(site_));
    Findings findings;
    std::string said = FirstLine(end.output());
    if (end.outcome() != v1::COMMAND_OUTCOME_EXITED) {
      findings.Unknown(site_.name, "",
                       end.outcome() == v1::COMMAND_OUTCOME_TIMED_OUT
                           ? absl::StrCat("its program did not end within ",
                                          absl::FormatDuration(site_.time_limit))
                           : absl::StrCat("its program did not end by itself: ", end.message()));
    } else if (end.exit_status() == kBad) {
      findings.Bad(site_.name, "", said.empty() ? "its program exited with 1" : std::move(said));
    } else if (end.exit_status() != kOk) {
      findings.Unknown(site_.name, "",
                       absl::StrCat("its program exited with ", end.exit_status(), ": ", said));
    }
    return findings;
  }

 private:
  const SiteCondition site_;
  const RunSiteCommand run_;
};

}  // namespace

std::vector<ProbeSpec> MakeSiteProbes(const std::vector<SiteCondition>& sites,
                                      const RunSiteCommand& run) {
  std::vector<ProbeSpec> probes;
  for (const SiteCondition& site : sites) {
    probes.push_back({.name = site.name,
                      .conditions = {{site.name, {}}},
                      .interval = site.interval,
                      .time_limit = site.time_limit + kEnding,
                      .probe = std::make_shared<SiteProbe>(site, run)});
  }
  return probes;
}

}  // namespace muster::agent::health
