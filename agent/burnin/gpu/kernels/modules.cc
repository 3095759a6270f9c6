#include "agent/burnin/gpu/kernels/modules.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/kernels/hopper/wgmma_shape.h"

namespace muster::burnin {

// Made from the .cu files: see CMakeLists.txt.
extern const char kPtx_fill[], kPtx_verify[], kPtx_memory[], kPtx_gemm_fma[], kPtx_gemm_dp4a[],
    kPtx_gemm_sm70[], kPtx_gemm_sm75[], kPtx_gemm_sm80[], kPtx_gemm_sm89[], kPtx_gemm_sm90a[];

namespace {

using kernels::Element;

constexpr PtxModule kModules[] = {
    {"fill", 60, 60, kPtx_fill},           {"verify", 60, 60, kPtx_verify},
    {"memory", 60, 60, kPtx_memory},       {"gemm_fma", 60, 60, kPtx_gemm_fma},
    {"gemm_dp4a", 61, 60, kPtx_gemm_dp4a}, {"gemm_sm70", 70, 64, kPtx_gemm_sm70},
    {"gemm_sm75", 75, 65, kPtx_gemm_sm75}, {"gemm_sm80", 80, 70, kPtx_gemm_sm80},
    {"gemm_sm89", 89, 84, kPtx_gemm_sm89}, {"gemm_sm90a", 90, 80, kPtx_gemm_sm90a, true},
};

// PTX ISA → the CUDA version whose drivers first supported it ("PTX ISA", release notes).
struct DriverRow {
  int ptx_version;
  int driver;
};
constexpr DriverRow kDrivers[] = {
    {60, 9000}, {64, 10010}, {65, 10020}, {70, 11000}, {80, 12000}, {84, 12040},
};

constexpr GemmKernel OnHopper(Element type, absl::string_view name) {
  return {.type = type,
          .name = name,
          .module = "gemm_sm90a",
          .rows = kernels::kWgmmaRows,
          .columns = kernels::kWgmmaColumns,
          .threads = kernels::kWgmmaThreads,
          .tensor = true,
          .shared_bytes = kernels::kWgmmaSharedBytes};
}

constexpr GemmKernel OnTensorCores(Element type, absl::string_view name, absl::string_view module) {
  return {.type = type,
          .name = name,
          .module = module,
          .rows = 128,
          .columns = 128,
          .threads = 128,
          .tensor = true};
}

constexpr GemmKernel WithoutThem(Element type, absl::string_view name, absl::string_view module,
                                 int tile) {
  return {.type = type,
          .name = name,
          .module = module,
          .rows = tile,
          .columns = tile,
          .threads = 256,
          .tensor = false};
}

// The assembler turns the instruction into conversions to FP16 and FP16 products (F2FP, HMMA) for
// 9.0, and into the FP8 units' own (QMMA) for 8.9.
constexpr GemmKernel ButNotOnHopper(GemmKernel kernel) {
  kernel.emulated_on = 90;
  return kernel;
}

// For each type the best first. A later GPU runs an earlier kernel too, so this order decides; but
// Volta's instruction is slow on its successors, whose kernels come before it.
constexpr GemmKernel kKernels[] = {
    WithoutThem(Element::kF32, "gemm_f32", "gemm_fma", 128),
    WithoutThem(Element::kF64, "gemm_f64", "gemm_fma", 64),
    OnHopper(Element::kF16, "gemm_f16_sm90a"),
    OnTensorCores(Element::kF16, "gemm_f16_sm80", "gemm_sm80"),
    OnTensorCores(Element::kF16, "gemm_f16_sm75", "gemm_sm75"),
    OnTensorCores(Element::kF16, "gemm_f16_sm70", "gemm_sm70"),
    OnHopper(Element::kBf16, "gemm_bf16_sm90a"),
    OnTensorCores(Element::kBf16, "gemm_bf16_sm80", "gemm_sm80"),
    OnHopper(Element::kTf32, "gemm_tf32_sm90a"),
    OnTensorCores(Element::kTf32, "gemm_tf32_sm80", "gemm_sm80"),
    OnHopper(Element::kE4m3, "gemm_e4m3_sm90a"),
    ButNotOnHopper(OnTensorCores(Element::kE4m3, "gemm_e4m3_sm89", "gemm_sm89")),
    OnHopper(Element::kS8, "gemm_s8_sm90a"),
    OnTensorCores(Element::kS8, "gemm_s8_sm80", "gemm_sm80"),
    OnTensorCores(Element::kS8, "gemm_s8_sm75", "gemm_sm75"),
    WithoutThem(Element::kS8, "gemm_s8_dp4a", "gemm_dp4a", 128),
};

struct NameRow {
  Element type;
  absl::string_view name;
};
constexpr NameRow kNames[] = {
    {Element::kF32, "fp32"},  {Element::kF64, "fp64"},  {Element::kF16, "fp16"},
    {Element::kBf16, "bf16"}, {Element::kTf32, "tf32"}, {Element::kE4m3, "fp8"},
    {Element::kS8, "int8"},
};

// 10020, the form in which cuDriverGetVersion() returns CUDA 10.2.
std::string CudaVersion(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string Capability(int capability) {
  return absl::StrCat(capability / 10, ".", capability % 10);
}

}  // namespace

int PtxModule::min_driver() const {
  for (const DriverRow& row : kDrivers)
    if (row.ptx_version == ptx_version) return row.driver;
  std::abort();  // a version missing from the table: a bug, which modules_test finds
}

absl::Span<const PtxModule> PtxModules() { return kModules; }
absl::Span<const GemmKernel> GemmKernels() { return kKernels; }

const PtxModule& FindPtxModule(absl::string_view name) {
  for (const PtxModule& module : kModules)
    if (module.name == name) return module;
  std::abort();
}

absl::StatusOr<const GemmKernel*> ChooseGemmKernel(Element type, int capability, int driver) {
  int needs_driver = 0, needs_capability = 0;
  for (const GemmKernel& kernel : kKernels) {
    if (kernel.type != type) continue;
    const PtxModule& module = FindPtxModule(kernel.module);
    needs_capability = module.capability;
    if (module.exact ? module.capability != capability : module.capability > capability) continue;
    if (kernel.emulated_on == capability) continue;
    if (module.min_driver() <= driver) return &kernel;
    needs_driver = module.min_driver();
  }
  if (needs_driver != 0)
    return absl::UnimplementedError(absl::StrCat(ElementName(type), " needs a driver for CUDA ",
                                                 CudaVersion(needs_driver), "; this one supports ",
                                                 CudaVersion(driver)));
  return absl::UnimplementedError(absl::StrCat(ElementName(type), " needs compute capability ",
                                               Capability(needs_capability), "; this GPU has ",
                                               Capability(capability)));
}

absl::string_view ElementName(Element type) {
  for (const NameRow& row : kNames)
    if (row.type == type) return row.name;
  std::abort();
}

absl::StatusOr<Element> ElementByName(absl::string_view name) {
  for (const NameRow& row : kNames)
    if (row.name == name) return row.type;
  return absl::InvalidArgumentError(absl::StrCat("unknown type of number: ", name));
}

}  // namespace muster::burnin
