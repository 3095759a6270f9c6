#include "agent/burnin/gpu/gemm/burn.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/gemm/golden.h"
#include "agent/burnin/result.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// Work enqueued at a time: long enough that launching it costs nothing, short enough to stop.
constexpr absl::Duration kBurst = absl::Milliseconds(250);
// The window over which a rate is averaged.
constexpr absl::Duration kRateWindow = absl::Seconds(1);

// Two inputs and a golden result, and as much again for results.
uint64_t FittingSize(uint64_t size, Element type, size_t free_bytes) {
  while (size > kGemmGranule && 8 * SumBytes(type) * size * size > free_bytes) size /= 2;
  return size;
}

class Burner {
 public:
  Burner(KernelLauncher& kernels, GemmEngine& engine, Clock& clock, const BurnSettings& settings,
         const BurnObserver& observer)
      : kernels_(kernels),
        context_(kernels.context()),
        engine_(engine),
        clock_(clock),
        settings_(settings),
        observer_(observer) {}

  absl::StatusOr<BurnOutcome> Run() {
    RETURN_IF_ERROR(Prepare());
    RETURN_IF_ERROR(MakeGolden());
    RETURN_IF_ERROR(Calibrate());
    start_ = clock_.Now();
    observer_.on_load(true);
    const auto over = absl::MakeCleanup([this] { observer_.on_load(false); });
    const absl::Time end = start_ + settings_.duration;
    while (clock_.Now() < end && !observer_.stop()) RETURN_IF_ERROR(Burst());
    if (outcome_.tflops.count() == 0) EmitRate();
    return std::move(outcome_);
  }

 private:
  absl::Status Prepare();
  absl::Status MakeGolden();
  absl::Status Calibrate();
  absl::Status Burst();
  absl::Status Compare(uint64_t first, uint64_t count);
  absl::Status Explain(uint64_t first, uint64_t count);
  absl::StatusOr<absl::Duration> Multiply(uint64_t first, uint64_t count);
  // Compares results that lie one behind the other in one walk, which reads the golden one once.
  absl::Status StartComparing(uint64_t first, uint64_t count);
  void EmitRate();

  uint64_t size() const { return outcome_.size; }
  uint64_t sum_bytes() const { return SumBytes(settings_.type); }
  uint64_t result_bytes() const { return size() * size() * sum_bytes(); }
  cuda::DevicePointer Result(uint64_t buffer) const {
    return results_.get() + buffer % outcome_.buffers * result_bytes();
  }
  const char* WordsKernel(const char* of32, const char* of64) const {
    return sum_bytes() == 8 ? of64 : of32;
  }
  uint64_t SeedOf(int matrix) const { return 2 * settings_.seed + matrix; }

  KernelLauncher& kernels_;
  const CudaContext& context_;
  GemmEngine& engine_;
  Clock& clock_;
  const BurnSettings& settings_;
  const BurnObserver& observer_;

  BurnOutcome outcome_;
  CudaStream stream_;
  CudaEvent started_, finished_;
  DeviceMemory a_, b_, golden_, results_;
  std::optional<DeviceReport> report_;
  absl::Time start_;
  uint64_t burst_ = 1;    // number of products
  uint64_t next_ = 0;     // buffer index, never wraps
  double to_verify_ = 0;  // products due for comparison
  uint64_t rate_products_ = 0;
  absl::Duration rate_time_;
};

absl::Status Burner::Prepare() {
  ASSIGN_OR_RETURN(stream_, context_.CreateStream());
  ASSIGN_OR_RETURN(started_, context_.CreateEvent());
  ASSIGN_OR_RETURN(finished_, context_.CreateEvent());
  ASSIGN_OR_RETURN(DeviceReport report, DeviceReport::Create(context_));
  report_.emplace(std::move(report));
  ASSIGN_OR_RETURN(const CudaContext::MemoryInfo before, context_.Memory());
  outcome_.size = settings_.size != 0
                      ? settings_.size
                      : FittingSize(engine_.BestSize(), settings_.type, before.free);
  const uint64_t input_bytes = size() * size() * kernels::BytesOf(settings_.type);
  ASSIGN_OR_RETURN(a_, context_.Allocate(input_bytes));
  ASSIGN_OR_RETURN(b_, context_.Allocate(input_bytes));
  ASSIGN_OR_RETURN(golden_, context_.Allocate(result_bytes()));
  for (int matrix = 0; matrix < 2; ++matrix)
    RETURN_IF_ERROR(kernels_.Walk("fill", "fill_elements", stream_.get(),
                                  matrix == 0 ? a_.get() : b_.get(), input_bytes / 8,
                                  static_cast<int>(settings_.type), SeedOf(matrix), uint64_t{0}));
  // Before memory gets short: libraries allocate their work space with the first product.
  RETURN_IF_ERROR(engine_.Multiply(a_.get(), b_.get(), golden_.get(), size(), stream_.get()));
  RETURN_IF_ERROR(context_.Synchronize(stream_.get()));
  ASSIGN_OR_RETURN(const CudaContext::MemoryInfo left, context_.Memory());
  const auto budget = static_cast<uint64_t>(settings_.memory_share * left.free);
  outcome_.buffers = std::max<uint64_t>(1, budget / result_bytes());
  // Free memory may be fragmented: try less, until it fits.
  for (;;) {
    absl::StatusOr<DeviceMemory> results = context_.Allocate(outcome_.buffers * result_bytes());
    if (results.ok()) {
      results_ = *std::move(results);
      return absl::OkStatus();
    }
    if (outcome_.buffers == 1 || !absl::IsResourceExhausted(results.status()))
      return Annotate(results.status(), absl::StrCat("results of ", size(), " × ", size()));
    outcome_.buffers -= (outcome_.buffers + 15) / 16;
  }
}

absl::Status Burner::MakeGolden() {
  RETURN_IF_ERROR(engine_.Multiply(a_.get(), b_.get(), golden_.get(), size(), stream_.get()));
  RETURN_IF_ERROR(kernels_.Walk("verify", WordsKernel("digest_words32", "digest_words64"),
                                stream_.get(), golden_.get(), size() * size(),
                                SumExponentMask(settings_.type), report_->pointer()));
  ASSIGN_OR_RETURN(const kernels::Report report, report_->Read(stream_.get()));
  outcome_.digest = absl::StrFormat("%016x", report.digest);
  outcome_.not_finite += report.not_finite;
  RETURN_IF_ERROR(report_->Clear(stream_.get()));
  const auto bits_at = [this](uint64_t index) -> absl::StatusOr<uint64_t> {
    uint64_t bits = 0;
    RETURN_IF_ERROR(context_.CopyToHost(&bits, golden_.get() + index * sum_bytes(), sum_bytes(),
                                        stream_.get()));
    RETURN_IF_ERROR(context_.Synchronize(stream_.get()));
    return bits;
  };
  ASSIGN_OR_RETURN(outcome_.golden_errors,
                   CheckGolden({settings_.type, size(), SeedOf(0), SeedOf(1)}, bits_at));
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> Burner::Multiply(uint64_t first, uint64_t count) {
  RETURN_IF_ERROR(context_.Record(started_, stream_.get()));
  for (uint64_t i = first; i < first + count; ++i)
    RETURN_IF_ERROR(engine_.Multiply(a_.get(), b_.get(), Result(i), size(), stream_.get()));
  RETURN_IF_ERROR(context_.Record(finished_, stream_.get()));
  return context_.Elapsed(started_, finished_);
}

// Finds the number of products per burst: with one product, then with as many as that suggests.
absl::Status Burner::Calibrate() {
  ASSIGN_OR_RETURN(const absl::Duration one, Multiply(0, 1));
  const double fitting = absl::FDivDuration(kBurst, std::max(one, absl::Microseconds(1)));
  burst_ = std::clamp<uint64_t>(static_cast<uint64_t>(fitting), 1, outcome_.buffers);
  return absl::OkStatus();
}

absl::Status Burner::Burst() {
  const uint64_t first = next_;
  ASSIGN_OR_RETURN(const absl::Duration took, Multiply(first, burst_));
  next_ += burst_;
  outcome_.products += burst_;
  rate_products_ += burst_;
  rate_time_ += took;
  if (rate_time_ >= kRateWindow) EmitRate();
  to_verify_ += settings_.verify_share * static_cast<double>(burst_);
  // Rounded, so that ten times a share of 0.3 is not slightly less than 3.
  const auto count = std::min(burst_, static_cast<uint64_t>(std::floor(to_verify_ + 1e-6)));
  to_verify_ -= static_cast<double>(count);
  return count > 0 ? Compare(first + burst_ - count, count) : absl::OkStatus();
}

absl::Status Burner::StartComparing(uint64_t first, uint64_t count) {
  const uint64_t end = first + count;
  while (first < end) {
    const uint64_t until_wrap = outcome_.buffers - first % outcome_.buffers;
    const uint64_t together = std::min(end - first, until_wrap);
    RETURN_IF_ERROR(kernels_.Walk("verify", WordsKernel("compare_words32", "compare_words64"),
                                  stream_.get(), Result(first), together, golden_.get(),
                                  size() * size(), SumExponentMask(settings_.type),
                                  report_->pointer()));
    first += together;
  }
  return absl::OkStatus();
}

absl::Status Burner::Compare(uint64_t first, uint64_t count) {
  RETURN_IF_ERROR(StartComparing(first, count));
  ASSIGN_OR_RETURN(const kernels::Report report, report_->Read(stream_.get()));
  outcome_.verified += count;
  if (report.mismatches == 0 && report.not_finite == 0) return absl::OkStatus();
  outcome_.mismatches += report.mismatches;
  outcome_.not_finite += report.not_finite;
  RETURN_IF_ERROR(report_->Clear(stream_.get()));
  return Explain(first, count);
}

// Locates the errors: compares buffer after buffer again, which also distinguishes a wrong read
// from a wrong result.
absl::Status Burner::Explain(uint64_t first, uint64_t count) {
  std::vector<std::string>& evidence = outcome_.mismatch_evidence;
  bool found = false;
  for (uint64_t i = first; i < first + count && evidence.size() < CheckResult::kMaxEvidence; ++i) {
    RETURN_IF_ERROR(StartComparing(i, 1));
    ASSIGN_OR_RETURN(const kernels::Report report, report_->Read(stream_.get()));
    if (report.mismatches == 0 && report.not_finite == 0) continue;
    found = true;
    RETURN_IF_ERROR(report_->Clear(stream_.get()));
    for (uint64_t m = 0; m < std::min(report.records, kernels::Report::kMaxRecords); ++m) {
      const kernels::Mismatch& at = report.first[m];
      evidence.push_back(absl::StrFormat(
          "%s product %d, row %d, column %d, address 0x%x: expected 0x%x, read 0x%x",
          ElementName(settings_.type), i, at.place / size(), at.place % size(),
          Result(i) + at.place * sum_bytes(), at.expected, at.read));
    }
  }
  if (!found)
    evidence.push_back(absl::StrFormat("%s products %d to %d: correct when they were read again",
                                       ElementName(settings_.type), first, first + count - 1));
  if (evidence.size() > CheckResult::kMaxEvidence) evidence.resize(CheckResult::kMaxEvidence);
  return absl::OkStatus();
}

void Burner::EmitRate() {
  if (rate_products_ == 0 || rate_time_ <= absl::ZeroDuration()) return;
  const double n = static_cast<double>(size());
  const double operations = 2 * n * n * n * static_cast<double>(rate_products_);
  const double tflops = operations / absl::ToDoubleSeconds(rate_time_) / 1e12;
  rate_products_ = 0;
  rate_time_ = absl::ZeroDuration();
  outcome_.tflops.Add({clock_.Now() - start_, tflops});
  observer_.on_rate(tflops);
}

}  // namespace

absl::StatusOr<BurnOutcome> Burn(KernelLauncher& kernels, GemmEngine& engine, Clock& clock,
                                 const BurnSettings& settings, const BurnObserver& observer) {
  return Burner(kernels, engine, clock, settings, observer).Run();
}

}  // namespace muster::burnin
