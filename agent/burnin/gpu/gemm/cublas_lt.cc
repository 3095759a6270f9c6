#include "agent/burnin/gpu/gemm/cublas_lt.h"

#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"
#include "agent/burnin/gpu/gemm/cublas_lt_abi.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr const char* kLtLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "libcublasLt.so.11"};
// The first compute capability with FP8 units.
constexpr int kFirstCapability = 89;
// What cublasLt's fastest products for Hopper ask for.
constexpr size_t kWorkspaceBytes = 32 << 20;

absl::StatusOr<cublas_lt::Functions> BindLt(const DynamicLibrary& library) {
  cublas_lt::Functions functions;
#define MUSTER_CUBLAS_LT_BIND(member, symbol, parameters) \
  RETURN_IF_ERROR(library.Bind(symbol, functions.member));
  MUSTER_CUBLAS_LT_FUNCTIONS(MUSTER_CUBLAS_LT_BIND)
#undef MUSTER_CUBLAS_LT_BIND
  return functions;
}

// FP8 (e4m3) with sums in FP32.
class CublasLtEngine final : public GemmEngine {
 public:
  CublasLtEngine(const CudaContext& context, const cublas_lt::Functions& functions)
      : context_(context), functions_(functions) {}
  ~CublasLtEngine() override {
    if (!context_.MakeCurrent().ok()) return;
    Forget();
    if (operation_ != nullptr) functions_.OperationDestroy(operation_);
    if (handle_ != nullptr) functions_.Destroy(handle_);
  }

  absl::Status Create() {
    RETURN_IF_ERROR(context_.MakeCurrent());
    RETURN_IF_ERROR(CublasStatus(functions_.Create(&handle_), "cublasLtCreate"));
    std::string dot;
    for (const int part :
         {cublas_lt::kMajorVersion, cublas_lt::kMinorVersion, cublas_lt::kPatchLevel}) {
      int number = 0;
      RETURN_IF_ERROR(CublasStatus(functions_.GetProperty(part, &number), "cublasLtGetProperty"));
      absl::StrAppend(&version_, std::exchange(dot, "."), number);
    }
    RETURN_IF_ERROR(
        CublasStatus(functions_.OperationCreate(&operation_, cublas::kCompute32F, cublas::kR32F),
                     "cublasLtMatmulDescCreate"));
    // Its matrices are in column-major order: its B · Aᵀ is our A · Bᵀ in row-major order.
    RETURN_IF_ERROR(SetTransposed(cublas_lt::kTransposeA, cublas::kTranspose));
    RETURN_IF_ERROR(SetTransposed(cublas_lt::kTransposeB, cublas::kNoTranspose));
    // Sums as the tensor cores make them, which is the fastest way.
    const int8_t fast = 1;
    RETURN_IF_ERROR(CublasStatus(
        functions_.OperationSet(operation_, cublas_lt::kFastAccumulation, &fast, sizeof(fast)),
        "cublasLtMatmulDescSetAttribute"));
    ASSIGN_OR_RETURN(workspace_, context_.Allocate(kWorkspaceBytes));
    return absl::OkStatus();
  }

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    RETURN_IF_ERROR(context_.MakeCurrent());
    if (size != size_) RETURN_IF_ERROR(PlanFor(size));
    const auto pointer = [](cuda::DevicePointer address) {
      return reinterpret_cast<void*>(address);
    };
    const float one = 1, zero = 0;
    return CublasStatus(
        functions_.Multiply(handle_, operation_, &one, pointer(b), input_, pointer(a), input_,
                            &zero, pointer(c), output_, pointer(c), output_, &plan_.algorithm,
                            pointer(workspace_.get()), kWorkspaceBytes, stream),
        "cublasLtMatmul");
  }
  std::string Tool() const override { return absl::StrCat("cublasLt ", version_); }
  bool tensor() const override { return true; }
  uint64_t BestSize() const override { return UsualSize(kernels::Element::kE4m3, true); }

 private:
  absl::Status SetTransposed(int which, int value) {
    return CublasStatus(functions_.OperationSet(operation_, which, &value, sizeof(value)),
                        "cublasLtMatmulDescSetAttribute");
  }
  absl::Status MakeLayout(cublas_lt::Layout& layout, int type, uint64_t size) {
    return CublasStatus(
        functions_.LayoutCreate(&layout, type, size, size, static_cast<int64_t>(size)),
        "cublasLtMatrixLayoutCreate");
  }
  absl::Status PlanFor(uint64_t size);
  void Forget() {
    if (input_ != nullptr) functions_.LayoutDestroy(std::exchange(input_, nullptr));
    if (output_ != nullptr) functions_.LayoutDestroy(std::exchange(output_, nullptr));
    size_ = 0;
  }

  const CudaContext& context_;
  const cublas_lt::Functions functions_;
  cublas_lt::Handle handle_ = nullptr;
  cublas_lt::Operation operation_ = nullptr;
  std::string version_;
  DeviceMemory workspace_;
  // For matrices of size_.
  uint64_t size_ = 0;
  cublas_lt::Layout input_ = nullptr, output_ = nullptr;
  cublas_lt::Heuristic plan_ = {};
};

// Has the library choose how it multiplies matrices of this size: the same way every time.
absl::Status CublasLtEngine::PlanFor(uint64_t size) {
  Forget();
  RETURN_IF_ERROR(MakeLayout(input_, cublas_lt::kR8FE4M3, size));
  RETURN_IF_ERROR(MakeLayout(output_, cublas::kR32F, size));
  cublas_lt::Preference preference = nullptr;
  RETURN_IF_ERROR(
      CublasStatus(functions_.PreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  const auto destroy = absl::MakeCleanup([&] { functions_.PreferenceDestroy(preference); });
  RETURN_IF_ERROR(CublasStatus(functions_.PreferenceSet(preference, cublas_lt::kMaxWorkspaceBytes,
                                                        &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
                               "cublasLtMatmulPreferenceSetAttribute"));
  int found = 0;
  RETURN_IF_ERROR(
      CublasStatus(functions_.FindAlgorithms(handle_, operation_, input_, input_, output_, output_,
                                             preference, 1, &plan_, &found),
                   "cublasLtMatmulAlgoGetHeuristic"));
  if (found == 0)
    return absl::UnimplementedError("cublasLt has no way to multiply fp8 on this GPU");
  size_ = size;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GemmEngine>> MakeFp8LibraryEngine(const CudaContext& context) {
  ASSIGN_OR_RETURN(const int capability, context.driver().ComputeCapability(context.device()));
  if (capability < kFirstCapability)
    return absl::UnimplementedError("cublasLt needs a newer GPU for fp8");
  // A library that is newer than the driver supports does not start; an older one beside it may.
  std::string errors;
  for (const char* name : kLtLibraries) {
    absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Load(name);
    absl::Status status = library.status();
    if (status.ok()) {
      if (const absl::StatusOr<cublas_lt::Functions> functions = BindLt(*library); functions.ok()) {
        auto engine = std::make_unique<CublasLtEngine>(context, *functions);
        status = engine->Create();
        if (status.ok()) return engine;
      } else {
        status = functions.status();
      }
    }
    if (!absl::IsFailedPrecondition(status) && !absl::IsUnimplemented(status) &&
        !absl::IsNotFound(status))
      return status;
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", status.message());
  }
  return absl::FailedPreconditionError(errors);
}

}  // namespace muster::burnin
