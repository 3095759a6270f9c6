// The words that all texts about rollouts share. Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/text/slurm_job.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

// "draining", "quarantined".
absl::string_view StepWord(v1::RolloutStep step);
// "rolling back".
absl::string_view StateWord(v1::RolloutState state);

// The node is out of service for the rollout.
bool IsActive(v1::RolloutStep step);
// Nothing more happens to the node in this rollout.
bool IsOver(v1::RolloutStep step);
// The node is kept out of Slurm because its update or its test failed.
bool IsFailure(v1::RolloutStep step);
// Completed, aborted or rolled back.
bool HasEnded(v1::RolloutState state);

// "canary", "wave 1"; without a canary the wave before it is the "first wave".
std::string WaveName(const v1::CreateRolloutRequest& request, uint32_t wave);

// "at most 2 nodes out of service at once, 1 in each rack; it pauses when a node has failed".
std::string DescribeBudgets(const v1::Rollout& rollout);
// "4h 00m for each node; then it comes last, and the second time it is left out".
std::string DescribeDrainLimit(const v1::CreateRolloutRequest& request);
// "none: nodes that have to are noted"; "": where the playbook says so.
std::string DescribeReboots(const v1::CreateRolloutRequest& request);
// "to bundle 5f0c31d2a9be", with a stack also "and each node to its stack of revision 12".
std::string DescribeWayBack(const v1::Rollout& rollout);

// A host list of the nodes in one of the steps that `is_wanted` selects; "": there are none.
std::string NodesIn(const v1::Rollout& rollout, bool (*is_wanted)(v1::RolloutStep));

std::vector<SlurmJob> ToSlurmJobs(const google::protobuf::RepeatedPtrField<v1::SlurmJobInfo>& jobs);

// The exit code of commands that follow a rollout to its end (docs/cli.md).
int RolloutExitCode(const v1::Rollout& rollout);

}  // namespace muster::cli
