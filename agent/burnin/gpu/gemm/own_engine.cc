#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/gemm/engine.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// A kernel of muster-burnin's own.
class OwnEngine : public GemmEngine {
 public:
  OwnEngine(KernelLauncher& kernels, const GemmKernel& kernel)
      : kernels_(kernels), kernel_(kernel) {}

  std::string Tool() const final { return absl::StrCat("own kernel ", kernel_.name); }
  bool tensor() const final { return kernel_.tensor; }
  uint64_t BestSize() const final { return UsualSize(kernel_.type, kernel_.tensor); }

 protected:
  template <typename Matrix>
  absl::Status Launch(LaunchShape shape, const Matrix& a, const Matrix& b, cuda::DevicePointer c,
                      uint64_t size, cuda::Stream stream) {
    shape.block[0] = static_cast<unsigned>(kernel_.threads);
    shape.shared_bytes = static_cast<unsigned>(kernel_.shared_bytes);
    return kernels_.Launch(kernel_.module, kernel_.name, shape, stream, a, b, c, size, size);
  }

  KernelLauncher& kernels_;
  const GemmKernel& kernel_;
};

// A block for each tile of C.
class TileEngine final : public OwnEngine {
 public:
  using OwnEngine::OwnEngine;

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    const auto rows = static_cast<unsigned>(size / static_cast<uint64_t>(kernel_.rows));
    const auto columns = static_cast<unsigned>(size / static_cast<uint64_t>(kernel_.columns));
    return Launch({.grid = {columns, rows, 1}}, a, b, c, size, stream);
  }
};

// A block for each multiprocessor, which has A and B copied by maps of them.
class MapEngine final : public OwnEngine {
 public:
  MapEngine(KernelLauncher& kernels, const GemmKernel& kernel, unsigned processors)
      : OwnEngine(kernels, kernel), processors_(processors) {}

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    const CudaContext& context = kernels_.context();
    const uint64_t row_bytes = size * kernels::BytesOf(kernel_.type);
    ASSIGN_OR_RETURN(const kernels::TensorMap map_a,
                     context.MapMatrix(a, row_bytes, size, static_cast<unsigned>(kernel_.rows)));
    ASSIGN_OR_RETURN(const kernels::TensorMap map_b,
                     context.MapMatrix(b, row_bytes, size, static_cast<unsigned>(kernel_.columns)));
    return Launch({.grid = {processors_, 1, 1}}, map_a, map_b, c, size, stream);
  }

 private:
  const unsigned processors_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GemmEngine>> MakeOwnEngine(KernelLauncher& kernels, Element type) {
  const CudaContext& context = kernels.context();
  ASSIGN_OR_RETURN(const int capability, context.driver().ComputeCapability(context.device()));
  ASSIGN_OR_RETURN(const GemmKernel* kernel,
                   ChooseGemmKernel(type, capability, context.driver().version()));
  if (kernel->shared_bytes == 0) return std::make_unique<TileEngine>(kernels, *kernel);
  ASSIGN_OR_RETURN(const int processors,
                   context.driver().Attribute(context.device(), cuda::kMultiprocessorCount));
  return std::make_unique<MapEngine>(kernels, *kernel, static_cast<unsigned>(processors));
}

// On tensor cores the work per element of the result, which grows with the size, must be worth many
// times the comparison. FP64 is up to 64 times slower on consumer cards.
uint64_t UsualSize(Element type, bool tensor) {
  if (type == Element::kF64) return 4096;
  return tensor ? 16384 : 8192;
}

uint64_t SumBytes(Element type) { return type == Element::kF64 ? 8 : 4; }

uint64_t SumExponentMask(Element type) {
  switch (type) {
    case Element::kS8:
      return 0;
    case Element::kF64:
      return uint64_t{0x7ff} << 52;
    default:
      return 0x7f800000;
  }
}

}  // namespace muster::burnin
