// muster plan: shows what an apply would change, to review or to save and apply later.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/apply/plan_check.h"
#include "cli/apply/run_options.h"
#include "cli/apply/site_bundle.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "common/sys/file_system.h"
#include "common/value/plan_file.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

struct PlanOptions {
  RunOptions run;
  std::string file, ttl;
};

absl::StatusOr<absl::Duration> Lifetime(const std::string& text) {
  if (text.empty()) return kPlanFileLifetime;
  absl::Duration lifetime;
  if (!absl::ParseDuration(text, &lifetime) || lifetime < absl::Minutes(1) ||
      lifetime > kMaxPlanFileLifetime) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ttl ", text, ": expected 1m to 720h, such as 8h"));
  }
  return lifetime;
}

// The content of the file besides the predictions.
absl::Status Describe(Connection& connection, const v1::CreateRunRequest& request,
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

absl::Status Keep(const std::string& path, const v1::PlanFile& plan) {
  ASSIGN_OR_RETURN(const std::string text, WritePlanFile(plan));
  sys::RealFileSystem files;
  return files.WriteAtomically(path, text, {.mode = 0644});
}

absl::StatusOr<int> Plan(Context& context, const PlanOptions& options) {
  ASSIGN_OR_RETURN(v1::CreateRunRequest request, RequestFor(options.run));
  request.set_check_only(true);
  ASSIGN_OR_RETURN(const absl::Duration lifetime, Lifetime(options.ttl));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.run.playbook));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  ASSIGN_OR_RETURN(CheckedPlan checked, CheckNodes(context, *connection, request));
  if (checked.exit_code == kExitDetached) return kExitDetached;
  RETURN_IF_ERROR(Describe(*connection, request, lifetime, checked));
  Show(context, checked.plan, [&] { return RenderPlan(checked.plan); });
  if (!options.file.empty()) {
    RETURN_IF_ERROR(Keep(options.file, checked.plan));
    if (context.output == OutputFormat::kTable) {
      std::cout << "\nwritten to " << options.file << ", good for " << HumanDuration(lifetime)
                << ": muster apply " << options.file << "\n";
    }
  }
  return checked.exit_code;
}

}  // namespace

void AddPlan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("plan", "Show what an apply would change, and keep it");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("playbook", options->run.playbook, "Such as playbooks/site.yaml")
      ->required()
      ->type_name("PLAYBOOK");
  AddSelectionOptions(*command, options->run);
  AddExtraVarsOption(*command, options->run);
  command->add_flag("-D,--diff", options->run.diff, "Also show diffs of files");
  command->add_flag(
      "--reboot-with-jobs", options->run.reboot_with_jobs,
      "When the file is applied, reboot nodes even while Slurm jobs run; the jobs die");
  command
      ->add_option_function<std::string>(
          "-o,--out",
          [&context, options](const std::string& value) {
            // The words of the general -o keep their meaning.
            if (const auto format = ParseOutputFormat(value); format.has_value()) {
              context.output = *format;
            } else {
              options->file = value;
            }
          },
          "Write a plan file, for `muster apply FILE` (table, json, yaml: the format, as\n"
          "everywhere)")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->type_name("FILE");
  command->add_option("--ttl", options->ttl, "How long the plan file may be applied (default 24h)")
      ->type_name("DURATION");
  command->footer(
      "Nothing is changed on the nodes.\n"
      "Exit codes: 0 nothing to do, 1 usage or refused, 2 changes, 3 nodes failed, 4 nodes\n"
      "unreachable, 130 detached.");
  SetAction(command, context, [&context, options] { return Plan(context, *options); });
}

}  // namespace muster::cli
