#include "agent/session/mailbox.h"

#include "common/base/clock.h"

namespace muster::agent {

void Mailbox::OnReportsReady() {
  absl::MutexLock lock(&mutex_);
  mail_.reports_ready = true;
}

void Mailbox::OnProgress(const v1::StepProgress& progress) {
  absl::MutexLock lock(&mutex_);
  mail_.progress = progress;
}

void Mailbox::Wake() {
  absl::MutexLock lock(&mutex_);
  mail_.woken = true;
}

size_t Mailbox::AddReceived(v1::ControllerMessage message) {
  absl::MutexLock lock(&mutex_);
  mail_.received.push_back(std::move(message));
  return mail_.received.size();
}

void Mailbox::SetBroken() {
  absl::MutexLock lock(&mutex_);
  mail_.broken = true;
}

void Mailbox::AddFacts(v1::FactsReport report) {
  absl::MutexLock lock(&mutex_);
  mail_.facts.push_back(std::move(report));
}

void Mailbox::SetStopping() {
  absl::MutexLock lock(&mutex_);
  mail_.stopping = true;
}

bool Mailbox::stopping() const {
  absl::MutexLock lock(&mutex_);
  return mail_.stopping;
}

Mailbox::Mail Mailbox::Take(Clock& clock, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  clock.AwaitUntil(mutex_, absl::Condition(this, &Mailbox::Any), deadline);
  Mail taken = std::exchange(mail_, Mail());
  // These two remain set until they are handled.
  mail_.stopping = taken.stopping;
  mail_.broken = taken.broken;
  return taken;
}

bool Mailbox::AwaitStop(Clock& clock, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return clock.AwaitUntil(mutex_, absl::Condition(&mail_.stopping), deadline);
}

std::deque<v1::FactsReport> Mailbox::ForgetStream() {
  absl::MutexLock lock(&mutex_);
  mail_.received.clear();
  mail_.broken = false;
  return std::exchange(mail_.facts, {});
}

}  // namespace muster::agent
