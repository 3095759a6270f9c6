// Flips single bits in the memory of a real GPU behind the back of the burn-in, and counts how many
// it finds: in results of products and in memory patterns, each flip verified by itself, and in the
// running check of products.
//
//   gpu_flips_bench [--flips N] [--size N]
//
// Needs an NVIDIA driver, and takes the first GPU. Each figure is a line
// "FIGURE name value unit target", separated by tabs. Exits 1 if a flip was not found or something
// else was reported.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/gemm/burn.h"
#include "agent/burnin/gpu/gemm/engine.h"
#include "agent/burnin/gpu/kernels/launcher.h"
#include "agent/burnin/gpu/kernels/pattern.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::bench {
namespace {

namespace cuda = burnin::cuda;

using burnin::CudaContext;
using burnin::DeviceMemory;
using burnin::DeviceReport;
using burnin::KernelLauncher;
using kernels::Element;
using kernels::Pattern;

struct Options {
  uint64_t flips = 1000;
  uint64_t size = 8192;  // rows and columns of the products
};

constexpr Element kTypes[] = {Element::kBf16, Element::kE4m3, Element::kS8};
constexpr uint64_t kResults = 8;
constexpr uint64_t kSeed = 1;
constexpr uint64_t kPatternBytes = uint64_t{2} << 30;
struct NamedPattern {
  Pattern pattern;
  const char* name;
};
constexpr NamedPattern kPatterns[] = {{Pattern::kAddress, "address"},
                                      {Pattern::kWalkingOnes, "walking-ones"},
                                      {Pattern::kRandom, "random"}};

// Flips a bit of the word at `address`, and tells the word as it was.
template <typename Word>
absl::StatusOr<Word> Flip(const CudaContext& context, uint64_t address, int bit,
                          cuda::Stream stream) {
  Word word = 0;
  RETURN_IF_ERROR(context.CopyToHost(&word, address, sizeof(word), stream));
  RETURN_IF_ERROR(context.Synchronize(stream));
  const Word flipped = word ^ Word { 1 } << bit;
  RETURN_IF_ERROR(context.CopyToDevice(address, &flipped, sizeof(flipped), stream));
  RETURN_IF_ERROR(context.Synchronize(stream));
  return word;
}

// Whether the report has this one mismatch and no other.
bool HasJust(const kernels::Report& report, uint64_t place, uint64_t expected, uint64_t bit) {
  return report.mismatches == 1 && report.first[0].place == place &&
         report.first[0].expected == expected && report.first[0].read == (expected ^ bit);
}

class Bench {
 public:
  Bench(const Options& options, const CudaContext& context)
      : options_(options), context_(context), kernels_(context) {}

  // Ok: all flips were found.
  absl::Status Run() {
    ASSIGN_OR_RETURN(stream_, context_.CreateStream());
    ASSIGN_OR_RETURN(DeviceReport report, DeviceReport::Create(context_));
    report_ = std::make_unique<DeviceReport>(std::move(report));
    for (const Element type : kTypes) RETURN_IF_ERROR(InResults(type));
    for (const NamedPattern& row : kPatterns) RETURN_IF_ERROR(InPattern(row));
    RETURN_IF_ERROR(InRunningCheck(Element::kBf16));
    return missed_ == 0 ? absl::OkStatus()
                        : absl::DataLossError(absl::StrCat(missed_, " flips were not found"));
  }

 private:
  absl::Status InResults(Element type);
  absl::Status InPattern(const NamedPattern& row);
  absl::Status InRunningCheck(Element type);
  absl::StatusOr<kernels::Report> TakeReport() {
    ASSIGN_OR_RETURN(const kernels::Report report, report_->Read(stream_.get()));
    RETURN_IF_ERROR(report_->Clear(stream_.get()));
    return report;
  }
  void Tell(const std::string& where, uint64_t found, uint64_t flips) {
    missed_ += flips - found;
    absl::PrintF("FIGURE flips found, %s\t%d\tof %d\t= %d\n", where, found, flips, flips);
    std::fflush(stdout);
  }

  const Options options_;
  const CudaContext& context_;
  KernelLauncher kernels_;
  burnin::CudaStream stream_;
  std::unique_ptr<DeviceReport> report_;
  std::mt19937_64 random_{20261126};
  uint64_t missed_ = 0;
};

absl::Status Bench::InResults(Element type) {
  ASSIGN_OR_RETURN(const std::unique_ptr<burnin::GemmEngine> engine,
                   burnin::MakeOwnEngine(kernels_, type));
  const uint64_t words = options_.size * options_.size;
  const uint64_t input_bytes = words * static_cast<uint64_t>(kernels::BytesOf(type));
  ASSIGN_OR_RETURN(const DeviceMemory a, context_.Allocate(input_bytes));
  ASSIGN_OR_RETURN(const DeviceMemory b, context_.Allocate(input_bytes));
  ASSIGN_OR_RETURN(const DeviceMemory golden, context_.Allocate(words * 4));
  ASSIGN_OR_RETURN(const DeviceMemory results, context_.Allocate(kResults * words * 4));
  for (const DeviceMemory* matrix : {&a, &b})
    RETURN_IF_ERROR(kernels_.Walk("fill", "fill_elements", stream_.get(), matrix->get(),
                                  input_bytes / 8, static_cast<int>(type), matrix == &a ? 2 : 3,
                                  uint64_t{0}));
  RETURN_IF_ERROR(engine->Multiply(a.get(), b.get(), golden.get(), options_.size, stream_.get()));
  for (uint64_t i = 0; i < kResults; ++i)
    RETURN_IF_ERROR(engine->Multiply(a.get(), b.get(), results.get() + i * words * 4, options_.size,
                                     stream_.get()));
  uint64_t found = 0;
  for (uint64_t i = 0; i < options_.flips; ++i) {
    const uint64_t place = random_() % (kResults * words);
    const int bit = static_cast<int>(random_() % 32);
    const uint64_t address = results.get() + place * 4;
    ASSIGN_OR_RETURN(const uint32_t word, Flip<uint32_t>(context_, address, bit, stream_.get()));
    RETURN_IF_ERROR(kernels_.Walk("verify", "compare_words32", stream_.get(), results.get(),
                                  kResults, golden.get(), words, burnin::SumExponentMask(type),
                                  report_->pointer()));
    ASSIGN_OR_RETURN(const kernels::Report report, TakeReport());
    found += HasJust(report, place, word, uint64_t{1} << bit);
    RETURN_IF_ERROR(Flip<uint32_t>(context_, address, bit, stream_.get()).status());
  }
  Tell(absl::StrCat(burnin::ElementName(type), " results"), found, options_.flips);
  return absl::OkStatus();
}

absl::Status Bench::InPattern(const NamedPattern& row) {
  const int pattern = static_cast<int>(row.pattern);
  const uint64_t words = kPatternBytes / 8;
  ASSIGN_OR_RETURN(const DeviceMemory memory, context_.Allocate(kPatternBytes));
  RETURN_IF_ERROR(kernels_.Walk("memory", "memory_write", stream_.get(), memory.get(), words,
                                pattern, uint64_t{0}, kSeed, report_->pointer()));
  RETURN_IF_ERROR(TakeReport().status());
  uint64_t found = 0;
  for (uint64_t i = 0; i < options_.flips; ++i) {
    const uint64_t address = memory.get() + random_() % words * 8;
    const int bit = static_cast<int>(random_() % 64);
    ASSIGN_OR_RETURN(const uint64_t word, Flip<uint64_t>(context_, address, bit, stream_.get()));
    RETURN_IF_ERROR(kernels_.Walk("memory", "memory_verify", stream_.get(), memory.get(), words,
                                  pattern, uint64_t{0}, kSeed, report_->pointer()));
    ASSIGN_OR_RETURN(const kernels::Report report, TakeReport());
    found += HasJust(report, address, word, uint64_t{1} << bit);
    RETURN_IF_ERROR(Flip<uint64_t>(context_, address, bit, stream_.get()).status());
  }
  Tell(absl::StrCat("memory pattern ", row.name), found, options_.flips);
  return absl::OkStatus();
}

// Multiplies as another engine does, and then flips a bit of each result that is to be compared.
class FlippingEngine final : public burnin::GemmEngine {
 public:
  FlippingEngine(const CudaContext& context, burnin::GemmEngine& engine)
      : context_(context), engine_(engine) {}

  absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                        uint64_t size, cuda::Stream stream) override {
    RETURN_IF_ERROR(engine_.Multiply(a, b, c, size, stream));
    if (++products_ <= kNotCompared) return absl::OkStatus();
    ++flips_;
    return Flip<uint32_t>(context_, c + random_() % (size * size) * 4,
                          static_cast<int>(random_() % 32), stream)
        .status();
  }
  std::string Tool() const override { return engine_.Tool(); }
  bool tensor() const override { return engine_.tensor(); }
  uint64_t BestSize() const override { return engine_.BestSize(); }
  uint64_t flips() const { return flips_; }

 private:
  // The golden one, twice, and the one by which the burn-in learns how long one takes.
  static constexpr uint64_t kNotCompared = 3;

  const CudaContext& context_;
  burnin::GemmEngine& engine_;
  std::mt19937_64 random_{20261127};
  uint64_t products_ = 0, flips_ = 0;
};

absl::Status Bench::InRunningCheck(Element type) {
  ASSIGN_OR_RETURN(const std::unique_ptr<burnin::GemmEngine> engine,
                   burnin::MakeOwnEngine(kernels_, type));
  FlippingEngine flipping(context_, *engine);
  const burnin::BurnSettings settings = {.type = type,
                                         .size = options_.size,
                                         .memory_share = 0.5,
                                         .seed = kSeed,
                                         .duration = absl::InfiniteDuration()};
  const burnin::BurnObserver observer = {.on_rate = [](double) {},
                                         .stop = [&] { return flipping.flips() >= options_.flips; },
                                         .on_load = [](bool) {}};
  RealClock clock;
  ASSIGN_OR_RETURN(const burnin::BurnOutcome outcome,
                   Burn(kernels_, flipping, clock, settings, observer));
  if (outcome.mismatches > flipping.flips())
    return absl::DataLossError(
        absl::StrCat(outcome.mismatches, " mismatches of ", flipping.flips(), " flips"));
  Tell(absl::StrCat("running check of ", burnin::ElementName(type)), outcome.mismatches,
       flipping.flips());
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    uint64_t* const option = key == "--flips"  ? &options.flips
                             : key == "--size" ? &options.size
                                               : nullptr;
    if (option == nullptr || i + 1 == argc || !absl::SimpleAtoi(argv[i + 1], option) ||
        options.size == 0 || options.size % burnin::kGemmGranule != 0)
      return absl::InvalidArgumentError("usage: gpu_flips_bench [--flips N] [--size N·128]");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<burnin::CudaDriver> driver, burnin::CudaDriver::Load());
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaContext> context, CudaContext::Create(*driver, 0));
  return Bench(options, *context).Run();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const absl::Status status = muster::bench::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "gpu_flips_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
