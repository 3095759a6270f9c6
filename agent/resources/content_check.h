// The `validate:` command of resources that write a text.
#pragma once

#include <functional>
#include <string>

#include <google/protobuf/repeated_ptr_field.h>

#include "absl/status/status.h"
#include "agent/resources/types.h"

namespace muster::agent {

// For sys::WriteOptions::verify: runs `argv`, in which "%s" stands for the new file, and refuses
// the content of `path` unless the command exits with 0. An empty function when `argv` is empty.
// All arguments must outlive it.
std::function<absl::Status(const std::string&)> ContentCheck(
    const std::string& path, const google::protobuf::RepeatedPtrField<std::string>& argv,
    ResourceContext& context, ApplyObserver& observer);

}  // namespace muster::agent
