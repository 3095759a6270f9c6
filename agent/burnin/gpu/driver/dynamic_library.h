// A shared library that may be absent, bound at run time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace muster::burnin {

// Stays loaded until the process ends: drivers have threads of their own, and unloading would pull
// the code from under them.
class DynamicLibrary {
 public:
  // Loads a library by its soname, as the loader finds it. NotFound: it does not exist.
  // FailedPrecondition: it exists but cannot be loaded, with the reason.
  static absl::StatusOr<DynamicLibrary> Load(const std::string& name);

  // nullptr: this version of the library lacks it.
  void* Find(const char* symbol) const;
  // Points `function` at it. Unimplemented if this version lacks it.
  template <typename Function>
  absl::Status Bind(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Find(symbol));
    return function != nullptr ? absl::OkStatus() : Lacks(symbol);
  }
  absl::Status Lacks(const char* symbol) const;
  const std::string& name() const { return name_; }

 private:
  DynamicLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;
  void* handle_;
};

}  // namespace muster::burnin
