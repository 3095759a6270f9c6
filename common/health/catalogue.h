// The catalogue of conditions: what agents watch on their nodes, and what the controller does about
// it unless a site says otherwise. One list for both of them and the documents.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::health {

// What a bad condition means for jobs.
enum class Severity {
  kWarning,  // they run; somebody should look
  kFatal,    // they fail, or compute wrongly or slowly
};

// What happens when a condition turns bad and the site has no policy for it.
enum class DefaultPolicy {
  kObserve,  // it is recorded
  kNotify,   // and somebody is told
  kDrain,    // and the node gets no more jobs
};

struct ConditionInfo {
  absl::string_view name;  // "disk_full"; of lower-case letters, digits and '_'
  Severity severity;
  DefaultPolicy policy;
  absl::string_view meaning;  // what is wrong when it is bad, as a sentence without its full stop
  absl::string_view source;   // where the agent looks
};

// All conditions, in the order of the documents.
absl::Span<const ConditionInfo> Catalogue();
// nullptr if no condition has this name: it may be the site's own.
const ConditionInfo* FindCondition(absl::string_view name);

// "warning", "fatal".
absl::string_view Word(Severity severity);
// "observe", "notify", "drain".
absl::string_view Word(DefaultPolicy policy);

}  // namespace muster::health
