#include "agent/resources/package_progress.h"

#include "absl/strings/str_cat.h"
#include "agent/resources/resource.h"

namespace muster::agent {

PackageObserver ShowProgress(ApplyObserver& observer) {
  return {.on_activity =
              [&observer](absl::string_view activity, std::optional<float> percent) {
                observer.OnActivity(activity, percent);
              },
          .on_output =
              [&observer](absl::string_view line) { observer.OnOutput(absl::StrCat(line, "\n")); },
          .is_stopping = [&observer] { return observer.IsStopping(); }};
}

}  // namespace muster::agent
