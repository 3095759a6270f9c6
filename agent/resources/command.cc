#include "agent/resources/makers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "agent/resources/step_program.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kDefaultTimeout = absl::Minutes(10);
constexpr absl::Duration kDefaultRetryDelay = absl::Seconds(1);

class Command final : public Resource, public PrintingCheck {
 public:
  Command(v1::CommandResource spec, const std::string& step_id, ResourceContext& context)
      : spec_(std::move(spec)), context_(context), program_(step_id, context) {}

  std::string Id() const override { return absl::StrCat("command[", Line(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    if (spec_.changes_nothing()) return CheckByRunning();
    if (!spec_.creates().empty()) {
      ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.creates()));
      if (stat.has_value()) return std::vector<Change>{};
    }
    if (!spec_.unless().empty()) {
      ASSIGN_OR_RETURN(const bool done, UnlessHolds());
      if (done) return std::vector<Change>{};
    }
    return std::vector<Change>{{"command", "", Line()}};
  }

  absl::Status Apply(ApplyObserver& observer) override {
    if (spec_.changes_nothing()) return absl::OkStatus();  // Check() ran it
    RETURN_IF_ERROR(RunWithRetries(&observer));
    if (spec_.creates().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.creates()));
    if (stat.has_value()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(spec_.argv(0), " exited with 0 but did not create ",
                                            spec_.creates(), "; is `creates` right?"));
  }

  bool AlwaysChanges() const override { return spec_.always(); }

  const std::string& check_output() const override { return check_output_; }

 private:
  std::string Line() const { return absl::StrJoin(spec_.argv(), " "); }

  sys::ProcessSpec Process(const google::protobuf::RepeatedPtrField<std::string>& argv) const {
    sys::ProcessSpec process;
    process.argv.assign(argv.begin(), argv.end());
    process.environment.insert(spec_.environment().begin(), spec_.environment().end());
    if (!spec_.directory().empty()) process.directory = spec_.directory();
    process.timeout = spec_.has_timeout() ? ToDuration(spec_.timeout()) : kDefaultTimeout;
    return process;
  }

  sys::ProcessSpec MainProcess() const {
    sys::ProcessSpec process = Process(spec_.argv());
    process.input = spec_.input();
    return process;
  }

  // A check may need something that only an earlier step provides, so its failures are
  // FailedPrecondition: in check mode that is not an error. A copy that an earlier life of the
  // agent has left may run beside it, because it changes nothing.
  absl::StatusOr<std::vector<Change>> CheckByRunning() {
    const absl::Status status = RunWithRetries(nullptr);
    if (!status.ok()) return absl::FailedPreconditionError(status.message());
    return std::vector<Change>{};
  }

  absl::StatusOr<bool> UnlessHolds() {
    const auto result = context_.processes.Run(Process(spec_.unless()));
    if (absl::IsNotFound(result.status()))
      return absl::FailedPreconditionError(absl::StrCat("unless: ", result.status().message()));
    if (!result.ok()) return Annotate(result.status(), "unless");
    if (result->timed_out)
      return Annotate(sys::CheckSuccess(Process(spec_.unless()), *result), "unless");
    return result->ok();
  }

  absl::Status RunWithRetries(ApplyObserver* observer) {
    sys::ProcessSpec process = MainProcess();
    if (observer != nullptr)
      process.on_line = [observer](absl::string_view line) {
        observer->OnOutput(absl::StrCat(line, "\n"));
      };
    const absl::Duration delay =
        spec_.has_retry_delay() ? ToDuration(spec_.retry_delay()) : kDefaultRetryDelay;
    for (uint32_t attempt = 0;; ++attempt) {
      ASSIGN_OR_RETURN(sys::ProcessResult result, observer == nullptr
                                                      ? context_.processes.Run(process)
                                                      : program_.Run(process));
      const absl::Status status = sys::CheckSuccess(process, result);
      if (observer == nullptr) check_output_ = std::move(result.output);
      if (status.ok()) return status;
      if (attempt >= spec_.retries())
        return attempt == 0 ? status
                            : Annotate(status, absl::StrCat("after ", attempt + 1, " attempts"));
      if (observer != nullptr)
        observer->OnActivity(absl::StrCat("attempt ", attempt + 2, " of ", spec_.retries() + 1),
                             std::nullopt);
      context_.clock.Sleep(delay);
    }
  }

  const v1::CommandResource spec_;
  ResourceContext& context_;
  StepProgram program_;
  std::string check_output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeCommand(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::CommandResource& spec = step.command();
  if (spec.argv().empty() || spec.argv(0).empty())
    return absl::InvalidArgumentError("argv: contains no program");
  if (!spec.creates().empty()) RETURN_IF_ERROR(CheckPath("creates", spec.creates()));
  if (!spec.directory().empty() && spec.directory() != "/")
    RETURN_IF_ERROR(CheckPath("directory", spec.directory()));
  if (spec.creates().empty() && spec.unless().empty() && !spec.changes_nothing() && !spec.always())
    return absl::InvalidArgumentError(
        "a command needs one of creates, unless or changes: false, to state when there is nothing "
        "to do");
  return std::make_unique<Command>(spec, step.step_id(), context);
}

}  // namespace muster::agent
