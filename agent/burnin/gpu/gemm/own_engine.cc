#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/gemm/engine.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// A kernel of muster-burnin's own.
class OwnEngine final : public GemmEngine {
 public:
  OwnEngine(KernelLauncher& kernels, const GemmKernel& kernel)
      : kernels_(kernels), kernel_(kernel) {}

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    const auto blocks = static_cast<unsigned>(size / static_cast<uint64_t>(kernel_.tile));
    const LaunchShape shape = {.grid = {blocks, blocks, 1},
                               .block = {static_cast<unsigned>(kernel_.threads), 1, 1}};
    return kernels_.Launch(kernel_.module, kernel_.name, shape, stream, a, b, c, size, size);
  }
  std::string Tool() const override { return absl::StrCat("own kernel ", kernel_.name); }
  bool tensor() const override { return kernel_.tensor; }

 private:
  KernelLauncher& kernels_;
  const GemmKernel& kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GemmEngine>> MakeOwnEngine(KernelLauncher& kernels, Element type) {
  const CudaContext& context = kernels.context();
  ASSIGN_OR_RETURN(const int capability, context.driver().ComputeCapability(context.device()));
  ASSIGN_OR_RETURN(const GemmKernel* kernel,
                   ChooseGemmKernel(type, capability, context.driver().version()));
  return std::make_unique<OwnEngine>(kernels, *kernel);
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
