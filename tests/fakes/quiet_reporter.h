// For checks of one node whose progress does not matter.
#pragma once

#include "absl/status/status.h"
#include "agent/burnin/check.h"

namespace muster::testing {

class QuietReporter final : public burnin::Reporter {
 public:
  void SetPhase(absl::string_view, std::optional<double>) override {}
  void AddSample(burnin::Sample) override {}
  absl::StatusOr<std::vector<burnin::Endpoint>> Meet(const burnin::Endpoint&,
                                                     absl::Duration) override {
    return absl::UnimplementedError("no check of one node meets others");
  }
  bool stopping() const override { return stop; }

  bool stop = false;
};

}  // namespace muster::testing
