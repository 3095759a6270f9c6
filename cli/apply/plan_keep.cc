#include "cli/apply/plan_keep.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "common/sys/file_system.h"
#include "common/value/plan_file.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {

void AddPlanFileOptions(CLI::App& command, Context& context, PlanFileOptions& options,
                        absl::string_view carried_out_by) {
  command
      .add_option_function<std::string>(
          "-o,--out",
          [&context, &options](const std::string& value) {
            // The words of the general -o keep their meaning.
            if (const auto format = ParseOutputFormat(value); format.has_value()) {
              context.output = *format;
            } else {
              options.file = value;
            }
          },
          absl::StrCat("Write a plan file, for `", carried_out_by,
                       " FILE` (table, json, yaml: the format, as\neverywhere)"))
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->type_name("FILE");
  command.add_option("--ttl", options.ttl, "How long the plan file may be applied (default 24h)")
      ->type_name("DURATION");
}

absl::StatusOr<absl::Duration> LifetimeOf(const PlanFileOptions& options) {
  if (options.ttl.empty()) return kPlanFileLifetime;
  absl::Duration lifetime;
  if (!absl::ParseDuration(options.ttl, &lifetime) || lifetime < absl::Minutes(1) ||
      lifetime > kMaxPlanFileLifetime) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ttl ", options.ttl, ": expected 1m to 720h, such as 8h"));
  }
  return lifetime;
}

absl::Status DescribePlan(const Connection& connection, const v1::CreateRunRequest& request,
                          absl::Duration lifetime, CheckedPlan& checked) {
  v1::NodeService::Stub stub(connection.channel());
  v1::GetStatusResponse status;
  RETURN_IF_ERROR(
      Call(connection, stub, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(), &status));
  v1::PlanFile& plan = checked.plan;
  plan.set_format(kPlanFileFormat);
  plan.set_cluster(status.cluster());
  plan.set_ca_pin(status.ca_pin());
  plan.set_created_by(checked.run.created_by());
  *plan.mutable_created_at() = checked.run.created_at();
  *plan.mutable_expires_at() = ToTimestamp(ToTime(checked.run.created_at()) + lifetime);
  plan.set_run_id(checked.run.run_id());
  plan.set_playbook(request.playbook());
  plan.set_bundle_sha256(request.bundle_sha256());
  plan.set_inventory_revision(checked.run.inventory_revision());
  plan.set_limit(request.limit());
  *plan.mutable_tags() = request.tags();
  *plan.mutable_extra_vars() = request.extra_vars();
  plan.set_want_diff(request.want_diff());
  plan.set_reboot_with_jobs(request.reboot_with_jobs());
  return absl::OkStatus();
}

absl::Status KeepPlan(const Context& context, const PlanFileOptions& options,
                      absl::Duration lifetime, absl::string_view carried_out_by,
                      const v1::PlanFile& plan) {
  if (options.file.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, WritePlanFile(plan));
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.WriteAtomically(options.file, text, {.mode = 0644}));
  if (context.output == OutputFormat::kTable) {
    std::cout << "\nwritten to " << options.file << ", good for " << HumanDuration(lifetime) << ": "
              << carried_out_by << " " << options.file << "\n";
  }
  return absl::OkStatus();
}

}  // namespace muster::cli
