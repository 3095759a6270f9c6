#include "agent/burnin/gpu/memory/patterns.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/kernels/pattern.h"
#include "agent/burnin/result.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Pattern;

// A kernel walks over a chunk, and all its threads add to one sum at the end. By chunks of 1 GiB
// the patterns ran at 2.1 TB/s on an H100, by one of 16 GiB at 3.0.
constexpr uint64_t kLargestChunk = uint64_t{8} << 30;
constexpr uint64_t kSmallestChunk = uint64_t{1} << 20;
// A multiple for every kind of chunk, so that a chunk consists of whole vectors.
constexpr uint64_t kChunkGranule = 4096;
constexpr absl::Duration kFadeStep = absl::Milliseconds(200);
// The fastest of so many copies counts: the first still fills the address tables.
constexpr int kCopies = 5;
// Its blocks end after four times 16 bytes of each thread: the GPU keeps their order better than
// that of blocks that walk on, and its memory is faster then (2,965 rather than 2,820 GB/s on an
// H100).
constexpr unsigned kCopyThreads = 256;
constexpr uint64_t kCopyBlockBytes = kCopyThreads * 4 * 16;

enum class Method { kWriteAndVerify, kInvert, kFade };

struct Procedure {
  absl::string_view name;
  Method method;
  Pattern pattern;
  uint64_t rounds;
};

constexpr Procedure kProcedures[] = {
    {"address", Method::kWriteAndVerify, Pattern::kAddress, 1},
    {"walking-ones", Method::kWriteAndVerify, Pattern::kWalkingOnes, 64},
    {"walking-zeros", Method::kWriteAndVerify, Pattern::kWalkingZeros, 64},
    {"inversions", Method::kInvert, Pattern::kSolid, 4},
    {"random", Method::kInvert, Pattern::kRandom, 4},
    {"fade", Method::kFade, Pattern::kSolid, 2},
};

struct Chunk {
  DeviceMemory memory;
  uint64_t bytes = 0;
  uint64_t words() const { return bytes / 8; }
};

class MemoryTester {
 public:
  MemoryTester(KernelLauncher& kernels, Clock& clock, const MemorySettings& settings,
               const MemoryObserver& observer)
      : kernels_(kernels),
        context_(kernels.context()),
        clock_(clock),
        settings_(settings),
        observer_(observer) {}

  absl::StatusOr<MemoryOutcome> Run();

 private:
  absl::Status Allocate();
  absl::Status MeasureBandwidth();
  absl::Status RunRound(const Procedure& procedure, uint64_t round);
  absl::Status Write(const Procedure& procedure, uint64_t round);
  absl::Status Verify(const Procedure& procedure, uint64_t round);
  absl::Status Invert(const Procedure& procedure, uint64_t round, bool inverted);
  absl::StatusOr<kernels::Report> Collect(const Procedure& procedure, uint64_t round);
  bool Fade();

  KernelLauncher& kernels_;
  const CudaContext& context_;
  Clock& clock_;
  const MemorySettings& settings_;
  const MemoryObserver& observer_;

  MemoryOutcome outcome_;
  CudaStream stream_;
  std::optional<DeviceReport> report_;
  std::vector<Chunk> chunks_;
  uint64_t written_sum_ = 0;
};

absl::Status MemoryTester::Allocate() {
  ASSIGN_OR_RETURN(const CudaContext::MemoryInfo info, context_.Memory());
  outcome_.free_bytes = info.free;
  const auto wanted = static_cast<uint64_t>(settings_.share * static_cast<double>(info.free));
  uint64_t size = kLargestChunk;
  while (outcome_.tested_bytes + kSmallestChunk <= wanted && size >= kSmallestChunk) {
    const uint64_t bytes =
        std::min(size, wanted - outcome_.tested_bytes) / kChunkGranule * kChunkGranule;
    absl::StatusOr<DeviceMemory> memory = context_.Allocate(bytes);
    if (!memory.ok()) {
      if (!absl::IsResourceExhausted(memory.status())) return memory.status();
      size /= 2;
      continue;
    }
    chunks_.push_back({*std::move(memory), bytes});
    outcome_.tested_bytes += bytes;
  }
  if (!chunks_.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("only ", info.free >> 20, " MiB of the GPU's memory are free"));
}

// Copies the first chunk to the second, or half of the only one to the other half.
absl::Status MemoryTester::MeasureBandwidth() {
  const bool alone = chunks_.size() == 1 || chunks_[1].bytes < chunks_[0].bytes;
  const uint64_t bytes = chunks_[0].bytes / (alone ? 2 : 1) / kChunkGranule * kChunkGranule;
  const cuda::DevicePointer from = chunks_[0].memory.get();
  const cuda::DevicePointer to = alone ? from + bytes : chunks_[1].memory.get();
  const LaunchShape shape = {.grid = {static_cast<unsigned>(bytes / kCopyBlockBytes + 1), 1, 1},
                             .block = {kCopyThreads, 1, 1}};
  ASSIGN_OR_RETURN(const CudaEvent started, context_.CreateEvent());
  ASSIGN_OR_RETURN(const CudaEvent finished, context_.CreateEvent());
  for (int i = 0; i < kCopies && !observer_.stop(); ++i) {
    RETURN_IF_ERROR(context_.Record(started, stream_.get()));
    RETURN_IF_ERROR(
        kernels_.Launch("memory", "memory_copy", shape, stream_.get(), to, from, bytes / 16));
    RETURN_IF_ERROR(context_.Record(finished, stream_.get()));
    ASSIGN_OR_RETURN(const absl::Duration took, context_.Elapsed(started, finished));
    if (took <= absl::ZeroDuration()) continue;
    outcome_.bandwidth_gbytes_per_s =
        std::max(outcome_.bandwidth_gbytes_per_s,
                 2 * static_cast<double>(bytes) / absl::ToDoubleSeconds(took) / 1e9);
  }
  return absl::OkStatus();
}

absl::StatusOr<kernels::Report> MemoryTester::Collect(const Procedure& procedure, uint64_t round) {
  ASSIGN_OR_RETURN(const kernels::Report report, report_->Read(stream_.get()));
  RETURN_IF_ERROR(report_->Clear(stream_.get()));
  outcome_.mismatches += report.mismatches;
  for (uint64_t i = 0; i < std::min(report.records, kernels::Report::kMaxRecords) &&
                       outcome_.evidence.size() < CheckResult::kMaxEvidence;
       ++i) {
    const kernels::Mismatch& at = report.first[i];
    outcome_.evidence.push_back(absl::StrFormat(
        "%s, round %d, address 0x%x: expected 0x%016x, read 0x%016x, differing bits 0x%016x",
        procedure.name, round, at.place, at.expected, at.read, at.expected ^ at.read));
  }
  return report;
}

absl::Status MemoryTester::Write(const Procedure& procedure, uint64_t round) {
  for (const Chunk& chunk : chunks_)
    RETURN_IF_ERROR(kernels_.Walk("memory", "memory_write", stream_.get(), chunk.memory.get(),
                                  chunk.words(), static_cast<int>(procedure.pattern), round,
                                  settings_.seed, report_->pointer()));
  ASSIGN_OR_RETURN(const kernels::Report report, Collect(procedure, round));
  written_sum_ = report.digest;
  return absl::OkStatus();
}

absl::Status MemoryTester::Verify(const Procedure& procedure, uint64_t round) {
  for (const Chunk& chunk : chunks_)
    RETURN_IF_ERROR(kernels_.Walk("memory", "memory_verify", stream_.get(), chunk.memory.get(),
                                  chunk.words(), static_cast<int>(procedure.pattern), round,
                                  settings_.seed, report_->pointer()));
  ASSIGN_OR_RETURN(const kernels::Report report, Collect(procedure, round));
  if (report.mismatches == 0 && report.digest != written_sum_ &&
      outcome_.checksum_errors.size() < CheckResult::kMaxEvidence)
    outcome_.checksum_errors.push_back(
        absl::StrFormat("%s, round %d: wrote words of sum 0x%016x, read 0x%016x", procedure.name,
                        round, written_sum_, report.digest));
  return absl::OkStatus();
}

absl::Status MemoryTester::Invert(const Procedure& procedure, uint64_t round, bool inverted) {
  for (const Chunk& chunk : chunks_)
    RETURN_IF_ERROR(kernels_.Walk("memory", "memory_invert", stream_.get(), chunk.memory.get(),
                                  chunk.words(), static_cast<int>(procedure.pattern), round,
                                  settings_.seed, uint64_t{inverted}, report_->pointer()));
  return Collect(procedure, round).status();
}

// False: the test was stopped meanwhile.
bool MemoryTester::Fade() {
  observer_.on_load(false);
  const auto over = absl::MakeCleanup([this] { observer_.on_load(true); });
  const absl::Time until = clock_.Now() + settings_.fade;
  while (clock_.Now() < until) {
    if (observer_.stop()) return false;
    clock_.Sleep(std::min(kFadeStep, until - clock_.Now()));
  }
  return true;
}

absl::Status MemoryTester::RunRound(const Procedure& procedure, uint64_t round) {
  RETURN_IF_ERROR(Write(procedure, round));
  if (procedure.method == Method::kFade && !Fade()) return absl::OkStatus();
  if (procedure.method == Method::kInvert) {
    RETURN_IF_ERROR(Invert(procedure, round, false));
    RETURN_IF_ERROR(Invert(procedure, round, true));
  }
  return Verify(procedure, round);
}

absl::StatusOr<MemoryOutcome> MemoryTester::Run() {
  ASSIGN_OR_RETURN(stream_, context_.CreateStream());
  ASSIGN_OR_RETURN(DeviceReport report, DeviceReport::Create(context_));
  report_.emplace(std::move(report));
  RETURN_IF_ERROR(Allocate());
  RETURN_IF_ERROR(MeasureBandwidth());
  observer_.on_load(true);
  const auto over = absl::MakeCleanup([this] { observer_.on_load(false); });
  uint64_t rounds = 0, done = 0;
  std::vector<const Procedure*> chosen;
  for (const Procedure& procedure : kProcedures) {
    if (!absl::c_linear_search(settings_.procedures, procedure.name)) continue;
    chosen.push_back(&procedure);
    rounds += procedure.rounds * static_cast<uint64_t>(settings_.passes);
  }
  for (int pass = 0; pass < settings_.passes; ++pass) {
    for (const Procedure* procedure : chosen) {
      for (uint64_t round = 0; round < procedure->rounds; ++round) {
        if (observer_.stop()) return std::move(outcome_);
        observer_.on_progress(procedure->name,
                              static_cast<double>(done++) / static_cast<double>(rounds));
        RETURN_IF_ERROR(RunRound(*procedure, round));
      }
    }
    ++outcome_.passes;
  }
  return std::move(outcome_);
}

}  // namespace

absl::StatusOr<MemoryOutcome> TestMemory(KernelLauncher& kernels, Clock& clock,
                                         const MemorySettings& settings,
                                         const MemoryObserver& observer) {
  return MemoryTester(kernels, clock, settings, observer).Run();
}

}  // namespace muster::burnin
