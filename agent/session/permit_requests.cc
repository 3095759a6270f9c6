#include "agent/session/permit_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "agent/session/mailbox.h"
#include "agent/sys/slurm_jobs.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// How often a wait looks whether the agent is stopping.
constexpr absl::Duration kLook = absl::Milliseconds(200);

}  // namespace

PermitRequests::PermitRequests(std::string boot_id, sys::FileSystem& files,
                               AccountDatabase& accounts, Mailbox& mailbox, Clock& clock)
    : boot_id_(std::move(boot_id)),
      files_(files),
      accounts_(accounts),
      mailbox_(mailbox),
      clock_(clock) {}

bool PermitRequests::AwaitAnswer(const std::function<bool()>& stopping) {
  const absl::Time repeat = clock_.Now() + kRepeat;
  for (absl::Time now = clock_.Now(); now < repeat && !stopping(); now = clock_.Now()) {
    // A clock that was set back does not silence the question.
    if (repeat - now > kRepeat) return false;
    absl::MutexLock lock(&mutex_);
    if (clock_.AwaitUntil(mutex_, absl::Condition(this, &PermitRequests::IsAnswered),
                          std::min(repeat, now + kLook)))
      return true;
  }
  return false;
}

absl::StatusOr<v1::RebootPermit> PermitRequests::Ask(const std::string& plan_id,
                                                     const std::string& step_id,
                                                     const std::string& reason,
                                                     const std::function<bool()>& stopping) {
  v1::RebootRequest question;
  question.set_plan_id(plan_id);
  question.set_step_id(step_id);
  question.set_boot_id(boot_id_);
  question.set_reason(reason);
  question.set_request_id(NewUuid());
  const absl::Cleanup forget = [this] {
    absl::MutexLock lock(&mutex_);
    question_.Clear();
    answer_.reset();
    due_ = false;
  };
  do {
    ASSIGN_OR_RETURN(const std::vector<SlurmJob> jobs, RunningSlurmJobs(files_, accounts_));
    question.clear_running_jobs();
    for (const SlurmJob& job : jobs) {
      v1::SlurmJobInfo& told = *question.add_running_jobs();
      told.set_id(job.id);
      told.set_user(job.user);
      told.set_name(job.name);
    }
    {
      absl::MutexLock lock(&mutex_);
      question_ = question;
      due_ = true;
    }
    mailbox_.Wake();
    if (stopping()) return absl::CancelledError("the agent is stopping");
  } while (!AwaitAnswer(stopping));
  absl::MutexLock lock(&mutex_);
  if (answer_->has_permit()) return answer_->permit();
  return absl::FailedPreconditionError(answer_->refusal());
}

std::optional<v1::RebootRequest> PermitRequests::TakeDue() {
  absl::MutexLock lock(&mutex_);
  if (!std::exchange(due_, false)) return std::nullopt;
  return question_;
}

void PermitRequests::OnAnswer(const v1::RebootAnswer& answer) {
  absl::MutexLock lock(&mutex_);
  if (question_.request_id().empty() || answer.request_id() != question_.request_id()) return;
  if (answer.answer_case() == v1::RebootAnswer::ANSWER_NOT_SET) return;
  answer_ = answer;
}

}  // namespace muster::agent
