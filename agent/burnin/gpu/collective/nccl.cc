#include "agent/burnin/gpu/collective/nccl.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// Values from nccl.h, the same in all versions 2.
constexpr int kFloat32 = 7, kSum = 0;

}  // namespace

absl::StatusOr<std::unique_ptr<Nccl>> Nccl::Load(const std::string& name) {
  ASSIGN_OR_RETURN(const DynamicLibrary library, DynamicLibrary::Load(name));
  auto nccl = absl::WrapUnique(new Nccl);
  Functions& functions = nccl->functions_;
  RETURN_IF_ERROR(library.Bind("ncclGetVersion", functions.get_version));
  RETURN_IF_ERROR(library.Bind("ncclGetErrorString", functions.get_error_string));
  RETURN_IF_ERROR(library.Bind("ncclCommInitAll", functions.init_all));
  RETURN_IF_ERROR(library.Bind("ncclCommDestroy", functions.destroy));
  RETURN_IF_ERROR(library.Bind("ncclGroupStart", functions.group_start));
  RETURN_IF_ERROR(library.Bind("ncclGroupEnd", functions.group_end));
  RETURN_IF_ERROR(library.Bind("ncclAllReduce", functions.all_reduce));
  return nccl;
}

absl::Status Nccl::ToStatus(int code, const char* function) const {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(function, ": ", functions_.get_error_string(code), " (", code, ")"));
}

absl::StatusOr<std::string> Nccl::Tool() const {
  int version = 0;
  RETURN_IF_ERROR(ToStatus(functions_.get_version(&version), "ncclGetVersion"));
  // 21903 for 2.19.3; 2804 for 2.8.4, before 2.9.
  const int unit = version >= 10000 ? 10000 : 1000;
  return absl::StrCat("nccl ", version / unit, ".", version % unit / 100, ".", version % 100);
}

absl::StatusOr<std::vector<void*>> Nccl::Connect(const std::vector<cuda::Device>& devices) const {
  std::vector<void*> communicators(devices.size());
  RETURN_IF_ERROR(ToStatus(
      functions_.init_all(communicators.data(), static_cast<int>(devices.size()), devices.data()),
      "ncclCommInitAll"));
  return communicators;
}

void Nccl::Disconnect(void* communicator) const { functions_.destroy(communicator); }

absl::Status Nccl::AllReduce(const std::vector<Part>& parts, size_t count) const {
  RETURN_IF_ERROR(ToStatus(functions_.group_start(), "ncclGroupStart"));
  absl::Status first_error;
  for (const Part& part : parts)
    first_error.Update(
        ToStatus(functions_.all_reduce(reinterpret_cast<const void*>(part.from),
                                       reinterpret_cast<void*>(part.to), count, kFloat32, kSum,
                                       part.communicator, part.stream),
                 "ncclAllReduce"));
  // The group is ended whatever happened inside it.
  first_error.Update(ToStatus(functions_.group_end(), "ncclGroupEnd"));
  return first_error;
}

}  // namespace muster::burnin
