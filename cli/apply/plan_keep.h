// Writing plans to files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/apply/plan_check.h"
#include "cli/context.h"

namespace CLI {
class App;
}

namespace muster::cli {

struct PlanFileOptions {
  std::string file;  // "": the plan is only shown
  std::string ttl;
};

// Adds --out and --ttl; -o also takes the formats of the general -o. `context` and `options` must
// outlive the command. `carried_out_by` is the command that takes the file: "muster apply FILE".
void AddPlanFileOptions(CLI::App& command, Context& context, PlanFileOptions& options,
                        absl::string_view carried_out_by);

// How long the file may be applied. InvalidArgument names the option.
absl::StatusOr<absl::Duration> LifetimeOf(const PlanFileOptions& options);

// Sets the content of the file besides the predictions: the cluster, and what `request` asks for.
absl::Status DescribePlan(const Connection& connection, const v1::CreateRunRequest& request,
                          absl::Duration lifetime, CheckedPlan& checked);

// Writes the plan to the file, if there is to be one, and tells a reader of tables who takes it.
absl::Status KeepPlan(const Context& context, const PlanFileOptions& options,
                      absl::Duration lifetime, absl::string_view carried_out_by,
                      const v1::PlanFile& plan);

}  // namespace muster::cli
