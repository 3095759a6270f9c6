#include "agent/burnin/gpu/kernels/launcher.h"

#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

// Blocks of 256 threads that one multiprocessor holds at least, on every GPU since Pascal: blocks
// beyond those that run at once only cost their launch.
constexpr unsigned kBlocksOfAProcessor = 8;

}  // namespace

absl::StatusOr<cuda::Function> KernelLauncher::Find(absl::string_view module,
                                                    absl::string_view kernel) {
  if (const auto found = functions_.find(std::string(kernel)); found != functions_.end())
    return found->second;
  auto loaded = modules_.find(std::string(module));
  if (loaded == modules_.end()) {
    absl::StatusOr<CudaModule> fresh = context_.LoadModule(FindPtxModule(module).text);
    if (!fresh.ok()) return Annotate(fresh.status(), absl::StrCat("kernels of ", module));
    loaded = modules_.emplace(std::string(module), *std::move(fresh)).first;
  }
  ASSIGN_OR_RETURN(const cuda::Function function,
                   context_.FindFunction(loaded->second, std::string(kernel).c_str()));
  functions_.emplace(std::string(kernel), function);
  return function;
}

absl::StatusOr<unsigned> KernelLauncher::WalkingBlocks() {
  if (walking_blocks_ != 0) return walking_blocks_;
  ASSIGN_OR_RETURN(const int processors,
                   context_.driver().Attribute(context_.device(), cuda::kMultiprocessorCount));
  walking_blocks_ = static_cast<unsigned>(processors) * kBlocksOfAProcessor;
  return walking_blocks_;
}

absl::StatusOr<DeviceReport> DeviceReport::Create(const CudaContext& context) {
  ASSIGN_OR_RETURN(DeviceMemory memory, context.Allocate(sizeof(kernels::Report)));
  DeviceReport report(context, std::move(memory));
  RETURN_IF_ERROR(report.Clear(nullptr));
  return report;
}

absl::StatusOr<kernels::Report> DeviceReport::Read(cuda::Stream stream) const {
  kernels::Report report;
  RETURN_IF_ERROR(context_->CopyToHost(&report, pointer(), sizeof(report), stream));
  RETURN_IF_ERROR(context_->Synchronize(stream));
  return report;
}

absl::Status DeviceReport::Clear(cuda::Stream stream) const {
  RETURN_IF_ERROR(context_->Fill(pointer(), 0, sizeof(kernels::Report), stream));
  return context_->Synchronize(stream);
}

}  // namespace muster::burnin
