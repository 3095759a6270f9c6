#include "controller/enrollment/denylist.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

absl::Status Denylist::Load(Store& store, absl::Time now) {
  absl::MutexLock loading(&loading_);
  std::vector<std::string> denied;
  RETURN_IF_ERROR(Annotate(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(denied, txn.certificates().ListDenied(now));
    return absl::OkStatus();
  }), "reading the denied certificates"));
  absl::flat_hash_set<std::string> serials(std::make_move_iterator(denied.begin()),
                                           std::make_move_iterator(denied.end()));
  absl::MutexLock lock(&mutex_);
  serials_ = std::move(serials);
  return absl::OkStatus();
}

bool Denylist::Contains(absl::string_view serial) const {
  absl::ReaderMutexLock lock(&mutex_);
  return serials_.contains(serial);
}

}  // namespace muster::controller
