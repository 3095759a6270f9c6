#include "agent/burnin/gpu/gemm/cublas.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Element;

constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};

// Numbers of library_types.h and cublas_api.h, the same in versions 11 to 13.
constexpr int kR32F = 0, kR64F = 1, kR16F = 2, kR8I = 3, kR32I = 10, kR16BF = 14;
constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kCompute32FFastTf32 = 77;
constexpr int kNoTranspose = 0, kTranspose = 1;
constexpr int kDefaultAlgorithm = -1;

struct TypeRow {
  Element type;
  int input, output, compute;
  int capability;  // the lowest that cublasGemmEx() accepts
  bool tensor;     // from `tensor_from` on
  int tensor_from;
};
// Only cublasLt has fp8.
constexpr TypeRow kTypes[] = {
    {Element::kF32, kR32F, kR32F, kCompute32F, 60, false, 0},
    {Element::kF64, kR64F, kR64F, kCompute64F, 60, true, 80},
    {Element::kF16, kR16F, kR32F, kCompute32F, 60, true, 70},
    {Element::kBf16, kR16BF, kR32F, kCompute32F, 80, true, 80},
    {Element::kTf32, kR32F, kR32F, kCompute32FFastTf32, 80, true, 80},
    {Element::kS8, kR8I, kR32I, kCompute32I, 61, true, 75},
};

using Handle = void*;
struct Functions {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, cuda::Stream) = nullptr;
  int (*get_version)(Handle, int*) = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
              int, const void*, void*, int, int, int, int) = nullptr;
};

absl::StatusOr<Functions> BindAll(const DynamicLibrary& library) {
  Functions functions;
  RETURN_IF_ERROR(library.Bind("cublasCreate_v2", functions.create));
  RETURN_IF_ERROR(library.Bind("cublasDestroy_v2", functions.destroy));
  RETURN_IF_ERROR(library.Bind("cublasSetStream_v2", functions.set_stream));
  RETURN_IF_ERROR(library.Bind("cublasGetVersion_v2", functions.get_version));
  RETURN_IF_ERROR(library.Bind("cublasGemmEx", functions.gemm));
  return functions;
}

// cublasStatus_t. Any other code happened on the GPU: Internal.
struct CodeRow {
  int code;
  absl::StatusCode status;
};
constexpr CodeRow kCodes[] = {
    {1, absl::StatusCode::kFailedPrecondition},  // NOT_INITIALIZED: it does not suit the driver
    {3, absl::StatusCode::kResourceExhausted},   // ALLOC_FAILED
    {7, absl::StatusCode::kUnimplemented},       // INVALID_VALUE
    {8, absl::StatusCode::kUnimplemented},       // ARCH_MISMATCH
    {15, absl::StatusCode::kUnimplemented},      // NOT_SUPPORTED
};

absl::Status ToStatus(int code, absl::string_view function) {
  if (code == 0) return absl::OkStatus();
  absl::StatusCode status = absl::StatusCode::kInternal;
  for (const CodeRow& row : kCodes)
    if (row.code == code) status = row.status;
  return absl::Status(status, absl::StrCat(function, ": cuBLAS status ", code));
}

class CublasEngine final : public GemmEngine {
 public:
  CublasEngine(const CudaContext& context, const Functions& functions, const TypeRow& row,
               bool tensor)
      : context_(context), functions_(functions), row_(row), tensor_(tensor) {}
  ~CublasEngine() override {
    if (handle_ != nullptr && context_.MakeCurrent().ok()) functions_.destroy(handle_);
  }

  absl::Status Create() {
    RETURN_IF_ERROR(context_.MakeCurrent());
    RETURN_IF_ERROR(ToStatus(functions_.create(&handle_), "cublasCreate"));
    return ToStatus(functions_.get_version(handle_, &version_), "cublasGetVersion");
  }

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    RETURN_IF_ERROR(context_.MakeCurrent());
    RETURN_IF_ERROR(ToStatus(functions_.set_stream(handle_, stream), "cublasSetStream"));
    // Its matrices are in column-major order: its B · Aᵀ is our A · Bᵀ in row-major order.
    const int n = static_cast<int>(size);
    const auto pointer = [](cuda::DevicePointer address) {
      return reinterpret_cast<void*>(address);
    };
    const void* one = row_.compute == kCompute64F   ? static_cast<const void*>(&kOne64F)
                      : row_.compute == kCompute32I ? static_cast<const void*>(&kOne32I)
                                                    : static_cast<const void*>(&kOne32F);
    const void* zero = &kZero;
    return ToStatus(functions_.gemm(handle_, kTranspose, kNoTranspose, n, n, n, one, pointer(b),
                                    row_.input, n, pointer(a), row_.input, n, zero, pointer(c),
                                    row_.output, n, row_.compute, kDefaultAlgorithm),
                    "cublasGemmEx");
  }
  std::string Tool() const override {
    // 120405 for 12.4.5.
    return absl::StrCat("cublas ", version_ / 10000, ".", version_ / 100 % 100, ".",
                        version_ % 100);
  }
  bool tensor() const override { return tensor_; }

 private:
  static constexpr float kOne32F = 1;
  static constexpr double kOne64F = 1;
  static constexpr int32_t kOne32I = 1;
  static constexpr double kZero = 0;  // all bits are zero: zero of every type

  const CudaContext& context_;
  const Functions functions_;
  const TypeRow& row_;
  const bool tensor_;
  Handle handle_ = nullptr;
  int version_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cublas>> Cublas::Load() {
  std::string errors;
  for (const char* name : kLibraries) {
    absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Load(name);
    if (library.ok()) return absl::WrapUnique(new Cublas(*std::move(library)));
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", library.status().message());
  }
  return absl::NotFoundError(errors);
}

absl::StatusOr<std::unique_ptr<GemmEngine>> Cublas::MakeEngine(const CudaContext& context,
                                                               Element type) const {
  const TypeRow* row = nullptr;
  for (const TypeRow& candidate : kTypes)
    if (candidate.type == type) row = &candidate;
  if (row == nullptr)
    return absl::UnimplementedError(
        absl::StrCat("cublasGemmEx does not support ", ElementName(type)));
  ASSIGN_OR_RETURN(const int capability, context.driver().ComputeCapability(context.device()));
  if (capability < row->capability)
    return absl::UnimplementedError(
        absl::StrCat("cuBLAS needs a newer GPU for ", ElementName(type)));
  ASSIGN_OR_RETURN(const Functions functions, BindAll(library_));
  auto engine = std::make_unique<CublasEngine>(context, functions, *row,
                                               row->tensor && capability >= row->tensor_from);
  RETURN_IF_ERROR(engine->Create());
  return engine;
}

}  // namespace muster::burnin
