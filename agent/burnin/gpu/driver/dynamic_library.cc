#include "agent/burnin/gpu/driver/dynamic_library.h"

#include <dlfcn.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::burnin {

absl::StatusOr<DynamicLibrary> DynamicLibrary::Load(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return DynamicLibrary(name, handle);
  const char* why = dlerror();
  const std::string message = absl::StrCat("loading ", name, ": ", why != nullptr ? why : "failed");
  // The C library's message; if a library exists but lacks another one, it names that one.
  const bool not_there =
      why != nullptr &&
      absl::StartsWith(why, absl::StrCat(name, ": cannot open shared object file: No such file"));
  return not_there ? absl::NotFoundError(message) : absl::FailedPreconditionError(message);
}

void* DynamicLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

absl::Status DynamicLibrary::Lacks(const char* symbol) const {
  return absl::UnimplementedError(absl::StrCat(name_, " has no ", symbol));
}

}  // namespace muster::burnin
