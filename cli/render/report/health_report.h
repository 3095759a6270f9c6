// The health of nodes, as text for a terminal. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/health.pb.h"

namespace muster::v1 {
class GetStatusResponse;
}

namespace muster::cli {

// What is wrong and what the policy does about it, with equal nodes folded; then what comes next,
// and the breakers that are open.
std::string RenderHealth(const v1::ListHealthResponse& response, absl::Time now);

std::string RenderConditionHistory(const v1::ListConditionHistoryResponse& response,
                                   absl::Time now);

// What became of `muster health clear`.
std::string RenderCleared(absl::string_view condition, const v1::ClearConditionResponse& response);

std::string RenderSilences(const v1::ListSilencesResponse& response, absl::Time now);
// "silence s-7k3m9q2x: gpu_lost on c[001-003], until …"
std::string DescribeSilence(const v1::Silence& silence, absl::Time now);

// What is wrong with nodes, for `muster status`: a label and two lines each; "": nothing.
std::string RenderProblems(const v1::GetStatusResponse& status, absl::Time now);

}  // namespace muster::cli
