#include "common/base/status.h"

#include "absl/strings/str_cat.h"

namespace muster {

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::Status ErrnoStatus(int error, absl::string_view context) {
  return absl::ErrnoToStatus(error, context);
}

}  // namespace muster
