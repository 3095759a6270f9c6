#include "agent/burnin/gpu/collective/nccl.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {

absl::StatusOr<std::unique_ptr<Nccl>> Nccl::Load(const std::string& name) {
  ASSIGN_OR_RETURN(const DynamicLibrary library, DynamicLibrary::Load(name));
  auto nccl = absl::WrapUnique(new Nccl);
  nccl::Functions& functions = nccl->functions_;
#define MUSTER_NCCL_BIND(result, member, symbol, parameters) \
  RETURN_IF_ERROR(library.Bind(symbol, functions.member));
  MUSTER_NCCL_FUNCTIONS(MUSTER_NCCL_BIND)
#undef MUSTER_NCCL_BIND
  return nccl;
}

absl::Status Nccl::ToStatus(int code, const char* function) const {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(function, ": ", functions_.GetErrorString(code), " (", code, ")"));
}

absl::StatusOr<std::string> Nccl::Tool() const {
  int version = 0;
  RETURN_IF_ERROR(ToStatus(functions_.GetVersion(&version), "ncclGetVersion"));
  // 21903 for 2.19.3; 2804 for 2.8.4, before 2.9.
  const int unit = version >= 10000 ? 10000 : 1000;
  return absl::StrCat("nccl ", version / unit, ".", version % unit / 100, ".", version % 100);
}

absl::StatusOr<std::vector<void*>> Nccl::Connect(const std::vector<cuda::Device>& devices) const {
  std::vector<void*> communicators(devices.size());
  RETURN_IF_ERROR(ToStatus(functions_.CommInitAll(communicators.data(),
                                                  static_cast<int>(devices.size()), devices.data()),
                           "ncclCommInitAll"));
  return communicators;
}

void Nccl::Disconnect(void* communicator) const { functions_.CommDestroy(communicator); }

absl::Status Nccl::AllReduce(const std::vector<Part>& parts, size_t count) const {
  RETURN_IF_ERROR(ToStatus(functions_.GroupStart(), "ncclGroupStart"));
  absl::Status first_error;
  for (const Part& part : parts)
    first_error.Update(
        ToStatus(functions_.AllReduce(reinterpret_cast<const void*>(part.from),
                                      reinterpret_cast<void*>(part.to), count, nccl::kFloat32,
                                      nccl::kSum, part.communicator, part.stream),
                 "ncclAllReduce"));
  // The group is ended whatever happened inside it.
  first_error.Update(ToStatus(functions_.GroupEnd(), "ncclGroupEnd"));
  return first_error;
}

}  // namespace muster::burnin
