#include "cli/apply/update_options.h"

#include <CLI/CLI.hpp>

#include "cli/apply/duration_option.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr char kPauseWord[] = "pause", kRollBackWord[] = "rollback", kWaitWord[] = "wait",
               kSkipWord[] = "skip", kRequeueWord[] = "requeue";

struct TimeoutWord {
  const char* word;
  v1::DrainTimeoutAction action;
};
constexpr TimeoutWord kTimeoutWords[] = {
    {kWaitWord, v1::DRAIN_TIMEOUT_ACTION_WAIT},
    {kSkipWord, v1::DRAIN_TIMEOUT_ACTION_SKIP},
    {kRequeueWord, v1::DRAIN_TIMEOUT_ACTION_REQUEUE},
};

constexpr char kAutoWord[] = "auto", kAlwaysWord[] = "always", kNeverWord[] = "never";

struct RebootWord {
  const char* word;
  v1::RebootMode mode;
};
constexpr RebootWord kRebootWords[] = {
    {kAutoWord, v1::REBOOT_MODE_AUTO},
    {kAlwaysWord, v1::REBOOT_MODE_ALWAYS},
    {kNeverWord, v1::REBOOT_MODE_NEVER},
};

void AddBudgets(CLI::App& command, UpdateOptions& options) {
  command
      .add_option("--max-unavailable", options.max_unavailable,
                  "At most so many nodes out of service at once, for whatever reason (default 5%)")
      ->type_name("COUNT|PERCENT");
  command
      .add_option("--max-per-rack", options.max_per_rack,
                  "At most so many workers out in each rack, others included (default: no limit)")
      ->type_name("COUNT");
  command
      .add_option("--max-per-switch", options.max_per_switch,
                  "The same behind each switch (default: no limit)")
      ->type_name("COUNT");
  command
      .add_option("--failure-budget", options.failure_budget,
                  "So many failed nodes are tolerated (default 0)")
      ->type_name("COUNT");
  command
      .add_option("--on-failure", options.on_failure,
                  "When more nodes have failed: pause (default) or rollback")
      ->type_name("ACTION")
      ->check(CLI::IsMember({kPauseWord, kRollBackWord}).description(""));
}

void AddTimes(CLI::App& command, UpdateOptions& options) {
  command
      .add_option("--soak", options.soak,
                  "Watch a complete wave so long before the next begins (default: not at all)")
      ->type_name("DURATION");
  command
      .add_option("--window", options.windows,
                  "Take nodes only then, in the controller's local time: 'Sat 22:00-06:00', "
                  "'Mon-Fri 18:00-07:00'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("WINDOW");
  CLI::Option* timeout =
      command
          .add_option("--drain-timeout", options.drain_timeout,
                      "How long a node's jobs may take to end (default: without a limit)")
          ->type_name("DURATION");
  command
      .add_option("--on-timeout", options.on_timeout,
                  "After that: wait (default); skip: the node comes last, and is left out the "
                  "second time; or requeue: Slurm puts its jobs back into the queue, where they "
                  "can be, and the others are waited for")
      ->type_name("ACTION")
      ->check(CLI::IsMember({kWaitWord, kSkipWord, kRequeueWord}).description(""))
      ->needs(timeout);
}

}  // namespace

void AddUpdateOptions(CLI::App& command, UpdateOptions& options) {
  command
      .add_option("playbook", options.run.playbook,
                  "Such as playbooks/site.yaml; a stack; or a file that `muster update --plan -o` "
                  "wrote")
      ->required()
      ->type_name("PLAYBOOK|STACK|FILE");
  AddSelectionOptions(command, options.run);
  AddExtraVarsOption(command, options.run);
  command
      .add_option("-s,--suite", options.suite,
                  "The suite that a node has to pass before it serves again (default: the one with "
                  "which the playbook ends)")
      ->type_name("SUITE");
  command
      .add_option("--canary", options.canary, "Nodes of the first wave (default 1); 0: no canary")
      ->type_name("COUNT");
  command
      .add_option("--waves", options.waves,
                  "Nodes that are taken at the end of each wave, such as 1,5%,25%,100% (default: "
                  "all after the canary)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("COUNT|PERCENT");
  command.add_flag(
      "--login-and-storage", options.login_and_storage,
      "After all workers the playbook's login and storage nodes, too, one by one, those "
      "of slurmctld last");
  command
      .add_option(
          "--reboot", options.reboot,
          "auto (default): where the playbook says so; always: each node once; never: nodes "
          "that have to are noted, for a later `muster node reboot`")
      ->type_name("MODE")
      ->check(CLI::IsMember({kAutoWord, kAlwaysWord, kNeverWord}).description(""));
  command.add_option("--site", options.site, "With a stack: the site folder (default: this one)")
      ->type_name("DIR");
  command
      .add_option("--inventory", options.inventory,
                  "With a stack: in the site folder (default: inventory)")
      ->type_name("PATH");
  command
      .add_option("--playbook", options.site_playbook,
                  "With a stack: in the site folder (default: playbooks/site.yaml)")
      ->type_name("PLAYBOOK");
  AddBudgets(command, options);
  AddTimes(command, options);
  CLI::Option* plan =
      command.add_flag("--plan", options.plan,
                       "Start nothing; show what would happen and change, and keep it (--out)");
  command.add_flag("-D,--diff", options.run.diff, "With --plan: also show diffs of files");
  command.add_flag("-y,--yes", options.yes, "Do not ask")->excludes(plan);
  command.add_flag("-d,--detach", options.detach, "Print the rollout's id and do not wait")
      ->excludes(plan);
}

absl::StatusOr<v1::CreateRolloutRequest> RequestFor(const UpdateOptions& options) {
  ASSIGN_OR_RETURN(const v1::CreateRunRequest run, RequestFor(options.run));
  v1::CreateRolloutRequest request;
  request.set_limit(run.limit());
  *request.mutable_tags() = run.tags();
  *request.mutable_extra_vars() = run.extra_vars();
  request.set_suite(options.suite);
  request.set_login_and_storage(options.login_and_storage);
  if (options.canary.has_value()) request.set_canary(*options.canary);
  for (const std::string& wave : options.waves) request.add_waves(wave);
  request.set_max_unavailable(options.max_unavailable);
  request.set_max_per_rack(options.max_per_rack);
  request.set_max_per_switch(options.max_per_switch);
  request.set_failure_budget(options.failure_budget);
  if (!options.on_failure.empty())
    request.set_on_failure(options.on_failure == kRollBackWord
                               ? v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK
                               : v1::ROLLOUT_FAILURE_ACTION_PAUSE);
  if (!options.soak.empty()) {
    ASSIGN_OR_RETURN(
        const absl::Duration soak,
        ParseDurationOption("--soak", options.soak, absl::ZeroDuration(), "10m or 1d"));
    *request.mutable_soak() = ToProtoDuration(soak);
  }
  for (const std::string& window : options.windows) request.add_windows(window);
  if (!options.drain_timeout.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration timeout,
                     ParseDurationOption("--drain-timeout", options.drain_timeout, absl::Seconds(1),
                                         "4h or 2d"));
    *request.mutable_drain_timeout() = ToProtoDuration(timeout);
  }
  for (const TimeoutWord& row : kTimeoutWords) {
    if (options.on_timeout == row.word) request.set_on_timeout(row.action);
  }
  for (const RebootWord& row : kRebootWords) {
    if (options.reboot == row.word) request.set_reboots(row.mode);
  }
  return request;
}

}  // namespace muster::cli
