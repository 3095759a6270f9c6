#include "agent/resources/content_check.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"

namespace muster::agent {

std::function<absl::Status(const std::string&)> ContentCheck(
    const std::string& path, const google::protobuf::RepeatedPtrField<std::string>& argv,
    ResourceContext& context, ApplyObserver& observer) {
  if (argv.empty()) return {};
  return [&path, &argv, &context, &observer](const std::string& new_path) -> absl::Status {
    sys::ProcessSpec spec = {.timeout = absl::Minutes(2)};
    for (const std::string& argument : argv)
      spec.argv.push_back(absl::StrReplaceAll(argument, {{"%s", new_path}}));
    observer.OnActivity(absl::StrCat("validating with ", spec.argv.front()), std::nullopt);
    ASSIGN_OR_RETURN(const sys::ProcessResult result, context.processes.Run(spec));
    const absl::Status status = sys::CheckSuccess(spec, result);
    if (status.ok()) return status;
    // The temporary name means nothing to the reader, and is gone by now.
    return absl::InvalidArgumentError(
        absl::StrCat("the new content of ", path, " was refused, the old content stays: ",
                     absl::StrReplaceAll(std::string(status.message()), {{new_path, path}})));
  };
}

}  // namespace muster::agent
