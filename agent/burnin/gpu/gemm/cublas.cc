#include "agent/burnin/gpu/gemm/cublas.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/gemm/cublas_abi.h"
#include "agent/burnin/gpu/gemm/cublas_lt.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Element;

constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};

struct TypeRow {
  Element type;
  int input, output, compute;
  int capability;  // the lowest that cublasGemmEx() accepts
  bool tensor;     // from `tensor_from` on
  int tensor_from;
  uint64_t size = 0;  // for BestSize(); 0: the usual
};
// FP8 is cublasLt's.
constexpr TypeRow kTypes[] = {
    {Element::kF32, cublas::kR32F, cublas::kR32F, cublas::kCompute32F, 60, false, 0},
    {Element::kF64, cublas::kR64F, cublas::kR64F, cublas::kCompute64F, 60, true, 80},
    {Element::kF16, cublas::kR16F, cublas::kR32F, cublas::kCompute32F, 60, true, 70},
    {Element::kBf16, cublas::kR16BF, cublas::kR32F, cublas::kCompute32F, 80, true, 80},
    {Element::kTf32, cublas::kR32F, cublas::kR32F, cublas::kCompute32FFastTf32, 80, true, 80},
    // cuBLAS 13.1 multiplies larger ones at 60 % of the rate on an H100.
    {Element::kS8, cublas::kR8I, cublas::kR32I, cublas::kCompute32I, 61, true, 75, 8192},
};

absl::StatusOr<cublas::Functions> BindAll(const DynamicLibrary& library) {
  cublas::Functions functions;
#define MUSTER_CUBLAS_BIND(member, symbol, parameters) \
  RETURN_IF_ERROR(library.Bind(symbol, functions.member));
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_CUBLAS_BIND)
#undef MUSTER_CUBLAS_BIND
  return functions;
}

// cublasStatus_t. Any other code happened on the GPU: Internal.
struct CodeRow {
  int code;
  absl::StatusCode status;
};
constexpr CodeRow kCodes[] = {
    {cublas::kNotInitialized, absl::StatusCode::kFailedPrecondition},  // not with this driver
    {cublas::kAllocFailed, absl::StatusCode::kResourceExhausted},
    {cublas::kInvalidValue, absl::StatusCode::kUnimplemented},
    {cublas::kArchMismatch, absl::StatusCode::kUnimplemented},
    {cublas::kNotSupported, absl::StatusCode::kUnimplemented},
};

class CublasEngine final : public GemmEngine {
 public:
  CublasEngine(const CudaContext& context, const cublas::Functions& functions, const TypeRow& row,
               bool tensor)
      : context_(context), functions_(functions), row_(row), tensor_(tensor) {}
  ~CublasEngine() override {
    if (handle_ != nullptr && context_.MakeCurrent().ok()) functions_.Destroy(handle_);
  }

  absl::Status Create() {
    RETURN_IF_ERROR(context_.MakeCurrent());
    RETURN_IF_ERROR(CublasStatus(functions_.Create(&handle_), "cublasCreate"));
    return CublasStatus(functions_.GetVersion(handle_, &version_), "cublasGetVersion");
  }

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    RETURN_IF_ERROR(context_.MakeCurrent());
    RETURN_IF_ERROR(CublasStatus(functions_.SetStream(handle_, stream), "cublasSetStream"));
    // Its matrices are in column-major order: its B · Aᵀ is our A · Bᵀ in row-major order.
    const int n = static_cast<int>(size);
    const auto pointer = [](cuda::DevicePointer address) {
      return reinterpret_cast<void*>(address);
    };
    const void* one = row_.compute == cublas::kCompute64F   ? static_cast<const void*>(&kOne64F)
                      : row_.compute == cublas::kCompute32I ? static_cast<const void*>(&kOne32I)
                                                            : static_cast<const void*>(&kOne32F);
    const void* zero = &kZero;
    return CublasStatus(
        functions_.GemmEx(handle_, cublas::kTranspose, cublas::kNoTranspose, n, n, n, one,
                          pointer(b), row_.input, n, pointer(a), row_.input, n, zero, pointer(c),
                          row_.output, n, row_.compute, cublas::kDefaultAlgorithm),
        "cublasGemmEx");
  }
  std::string Tool() const override {
    // 120405 for 12.4.5.
    return absl::StrCat("cublas ", version_ / 10000, ".", version_ / 100 % 100, ".",
                        version_ % 100);
  }
  bool tensor() const override { return tensor_; }
  uint64_t BestSize() const override {
    return row_.size != 0 ? row_.size : UsualSize(row_.type, tensor_);
  }

 private:
  static constexpr float kOne32F = 1;
  static constexpr double kOne64F = 1;
  static constexpr int32_t kOne32I = 1;
  static constexpr double kZero = 0;  // all bits are zero: zero of every type

  const CudaContext& context_;
  const cublas::Functions functions_;
  const TypeRow& row_;
  const bool tensor_;
  cublas::Handle handle_ = nullptr;
  int version_ = 0;
};

}  // namespace

absl::Status CublasStatus(int code, absl::string_view function) {
  if (code == 0) return absl::OkStatus();
  absl::StatusCode status = absl::StatusCode::kInternal;
  for (const CodeRow& row : kCodes)
    if (row.code == code) status = row.status;
  return absl::Status(status, absl::StrCat(function, ": cuBLAS status ", code));
}

absl::StatusOr<std::unique_ptr<Cublas>> Cublas::Load() {
  std::string errors;
  std::vector<DynamicLibrary> libraries;
  for (const char* name : kLibraries) {
    absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Load(name);
    if (library.ok()) {
      libraries.push_back(*std::move(library));
    } else {
      absl::StrAppend(&errors, errors.empty() ? "" : "; ", library.status().message());
    }
  }
  if (libraries.empty()) return absl::NotFoundError(errors);
  return absl::WrapUnique(new Cublas(std::move(libraries)));
}

absl::StatusOr<std::unique_ptr<GemmEngine>> Cublas::MakeEngine(const CudaContext& context,
                                                               Element type) const {
  const TypeRow* row = nullptr;
  for (const TypeRow& candidate : kTypes)
    if (candidate.type == type) row = &candidate;
  if (row == nullptr) return MakeFp8LibraryEngine(context);
  ASSIGN_OR_RETURN(const int capability, context.driver().ComputeCapability(context.device()));
  if (capability < row->capability)
    return absl::UnimplementedError(
        absl::StrCat("cuBLAS needs a newer GPU for ", ElementName(type)));
  // A library that is newer than the driver supports does not start; an older one beside it may.
  std::string errors;
  for (const DynamicLibrary& library : libraries_) {
    absl::Status status;
    if (const absl::StatusOr<cublas::Functions> functions = BindAll(library); functions.ok()) {
      auto engine = std::make_unique<CublasEngine>(context, *functions, *row,
                                                   row->tensor && capability >= row->tensor_from);
      status = engine->Create();
      if (status.ok()) return engine;
    } else {
      status = functions.status();
    }
    if (!absl::IsFailedPrecondition(status) && !absl::IsUnimplemented(status)) return status;
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", library.name(), ": ", status.message());
  }
  return absl::FailedPreconditionError(errors);
}

}  // namespace muster::burnin
