#include "agent/burnin/gpu/driver/nvml.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

struct NvmlCodeRow {
  int code;
  absl::StatusCode status;
  const char* remedy = "";
};
// Any other code is Internal.
constexpr NvmlCodeRow kNvmlCodes[] = {
    {nvml::kNotSupported, absl::StatusCode::kUnimplemented},
    {nvml::kFunctionNotFound, absl::StatusCode::kUnimplemented},
    {nvml::kArgumentVersionMismatch, absl::StatusCode::kUnimplemented},
    {nvml::kNoPermission, absl::StatusCode::kPermissionDenied},
    {nvml::kGpuIsLost, absl::StatusCode::kDataLoss},
    {nvml::kResetRequired, absl::StatusCode::kDataLoss},
    {nvml::kDriverNotLoaded, absl::StatusCode::kFailedPrecondition},
    {nvml::kLibraryMismatch, absl::StatusCode::kFailedPrecondition,
     ": the driver was updated and its old kernel module is still loaded: reboot"},
};

NvmlCodeRow NvmlCodeOf(int code) {
  for (const NvmlCodeRow& row : kNvmlCodes)
    if (row.code == code) return row;
  return {code, absl::StatusCode::kInternal};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  absl::StatusOr<DynamicLibrary> loaded = DynamicLibrary::Load(library);
  // The distributions' packages with that library have different names.
  if (absl::IsNotFound(loaded.status()))
    return absl::NotFoundError(
        absl::StrCat(loaded.status().message(), "; install the driver, which brings ", library));
  RETURN_IF_ERROR(loaded.status());
  auto nvml = absl::WrapUnique(new Nvml(*std::move(loaded)));
  RETURN_IF_ERROR(nvml->Call<nvml::Init_v2>());
  return nvml;
}

absl::Status Nvml::ToStatus(int code, const char* function) const {
  if (code == nvml::kSuccess) return absl::OkStatus();
  const auto text = reinterpret_cast<const char* (*)(int)>(library_.Find("nvmlErrorString"));
  const NvmlCodeRow row = NvmlCodeOf(code);
  return absl::Status(
      row.status, absl::StrCat(function, ": ", text != nullptr ? text(code) : "error", " (", code,
                               ")", row.remedy));
}

absl::StatusOr<std::string> Nvml::DriverVersion() const {
  char text[nvml::kTextSize] = "";
  RETURN_IF_ERROR(Call<nvml::SystemGetDriverVersion>(static_cast<char*>(text), nvml::kTextSize));
  return std::string(text);
}

absl::StatusOr<unsigned> Nvml::DeviceCount() const {
  unsigned count = 0;
  RETURN_IF_ERROR(Call<nvml::DeviceGetCount_v2>(&count));
  return count;
}

absl::StatusOr<nvml::Device> Nvml::DeviceAt(unsigned index) const {
  nvml::Device handle = nullptr;
  RETURN_IF_ERROR(Call<nvml::DeviceGetHandleByIndex_v2>(index, &handle));
  return handle;
}

}  // namespace muster::burnin
