#include "controller/store/soci/readers.h"

#include <utility>

#include "common/base/status.h"

namespace muster::controller {

absl::Status SociReaders::Open(const std::string& path) {
  for (size_t i = 0; i < kCount; ++i) {
    auto reader = std::make_unique<SociConnection>(path);
    RETURN_IF_ERROR(reader->Open(SociConnection::Use::kReadOnly));
    GiveBack(std::move(reader));
  }
  return absl::OkStatus();
}

absl::Status SociReaders::View(absl::FunctionRef<absl::Status(Transaction&)> fn) {
  std::unique_ptr<SociConnection> reader = Take();
  const absl::Status status = reader->Run("BEGIN", fn, "ROLLBACK");
  GiveBack(std::move(reader));
  return status;
}

std::unique_ptr<SociConnection> SociReaders::Take() {
  absl::MutexLock lock(&mutex_);
  const auto has_one = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !idle_.empty(); };
  mutex_.Await(absl::Condition(&has_one));
  std::unique_ptr<SociConnection> reader = std::move(idle_.back());
  idle_.pop_back();
  return reader;
}

void SociReaders::GiveBack(std::unique_ptr<SociConnection> reader) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(reader));
}

}  // namespace muster::controller
