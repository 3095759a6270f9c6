#include "agent/burnin/gpu/copy/copies.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "agent/burnin/gpu/kernels/element.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"

namespace muster::burnin {
namespace {

using Step = std::function<absl::Status()>;

// Size of the data that is sent; it bounds what the host must generate and compare.
constexpr uint64_t kPatternWords = uint64_t{1} << 17;

// A pattern of 1 MiB is repeated, each time with a different number mixed in, so that a copy of the
// wrong piece does not pass.
uint64_t WordAt(const std::vector<uint64_t>& pattern, uint64_t i) {
  return pattern[i % pattern.size()] ^ (i / pattern.size() * 0x9e3779b97f4a7c15u);
}

std::vector<uint64_t> MakePattern(uint64_t seed) {
  std::vector<uint64_t> pattern(kPatternWords);
  for (uint64_t i = 0; i < kPatternWords; ++i) pattern[i] = kernels::RandomWord(seed, i);
  return pattern;
}

void Fill(void* memory, uint64_t bytes, uint64_t seed) {
  const std::vector<uint64_t> pattern = MakePattern(seed);
  auto* words = static_cast<uint64_t*>(memory);
  for (uint64_t i = 0; i < bytes / 8; ++i) words[i] = WordAt(pattern, i);
}

// The first difference and the number of differences; empty: none.
std::string FindDamage(const void* memory, uint64_t bytes, uint64_t seed) {
  const std::vector<uint64_t> pattern = MakePattern(seed);
  const auto* words = static_cast<const uint64_t*>(memory);
  uint64_t count = 0;
  std::string first;
  for (uint64_t i = 0; i < bytes / 8; ++i) {
    const uint64_t expected = WordAt(pattern, i);
    if (words[i] == expected) continue;
    if (count++ == 0)
      first = absl::StrFormat("at offset %d: sent 0x%016x, received 0x%016x", i * 8, expected,
                              words[i]);
  }
  return count == 0 ? ""
                    : absl::StrCat(Counted(count, "word"),
                                   count == 1 ? " differs, " : " differ, the first ", first);
}

// Copies repeatedly, at least once, until the time is over. Bytes per second, by the host's clock:
// copies of this size take far longer than a wait costs.
absl::StatusOr<double> Repeat(Clock& clock, const CopySettings& settings, uint64_t bytes_a_step,
                              const std::function<bool()>& stop, const Step& step) {
  RETURN_IF_ERROR(step());  // fills address tables, raises clocks
  const absl::Time start = clock.Now();
  double bytes = 0;
  absl::Duration took;
  do {
    RETURN_IF_ERROR(step());
    bytes += static_cast<double>(bytes_a_step);
    took = clock.Now() - start;
  } while (took < settings.time && !stop());
  return bytes / std::max(absl::ToDoubleSeconds(took), 1e-9) / 1e9;
}

// The direct path of a pair, for as long as the pair is measured: a GPU outside a fabric of
// NVSwitches reaches only eight others at a time, and a node may have more.
class PeerPath {
 public:
  PeerPath(const CudaContext& from, const CudaContext& to) : from_(from), to_(to) {}
  ~PeerPath() {
    if (open_) (void)from_.DisablePeerAccess(to_);
  }
  PeerPath(const PeerPath&) = delete;
  PeerPath& operator=(const PeerPath&) = delete;

  // False: the two have none.
  absl::StatusOr<bool> Open() {
    ASSIGN_OR_RETURN(const bool reachable,
                     from_.driver().CanAccessPeer(from_.device(), to_.device()));
    if (!reachable) return false;
    const absl::Status enabled = from_.EnablePeerAccess(to_);
    if (!enabled.ok() && !absl::IsUnimplemented(enabled)) return enabled;
    open_ = enabled.ok();
    return open_;
  }

 private:
  const CudaContext& from_;
  const CudaContext& to_;
  bool open_ = false;
};

}  // namespace

absl::StatusOr<HostCopies> MeasureHostCopies(const CudaContext& context, Clock& clock,
                                             const CopySettings& settings,
                                             const std::function<bool()>& stop) {
  ASSIGN_OR_RETURN(const HostMemory sent, context.AllocateHost(settings.bytes));
  ASSIGN_OR_RETURN(const HostMemory received, context.AllocateHost(settings.bytes));
  ASSIGN_OR_RETURN(const DeviceMemory there, context.Allocate(settings.bytes));
  ASSIGN_OR_RETURN(const DeviceMemory other, context.Allocate(settings.bytes));
  ASSIGN_OR_RETURN(const CudaStream out, context.CreateStream());
  ASSIGN_OR_RETURN(const CudaStream back, context.CreateStream());
  Fill(sent.get(), settings.bytes, settings.seed);
  std::memset(received.get(), 0, settings.bytes);

  const auto send = [&](cuda::DevicePointer to) {
    return context.CopyToDevice(to, sent.get(), settings.bytes, out.get());
  };
  const auto receive = [&] {
    return context.CopyToHost(received.get(), there.get(), settings.bytes, back.get());
  };
  const auto wait = [&](const CudaStream& stream) { return context.Synchronize(stream.get()); };
  HostCopies result;
  ASSIGN_OR_RETURN(result.to_device_gbytes_per_s,
                   Repeat(clock, settings, settings.bytes, stop, [&]() -> absl::Status {
                     RETURN_IF_ERROR(send(there.get()));
                     return wait(out);
                   }));
  ASSIGN_OR_RETURN(result.to_host_gbytes_per_s,
                   Repeat(clock, settings, settings.bytes, stop, [&]() -> absl::Status {
                     RETURN_IF_ERROR(receive());
                     return wait(back);
                   }));
  result.damage = FindDamage(received.get(), settings.bytes, settings.seed);
  ASSIGN_OR_RETURN(result.both_gbytes_per_s,
                   Repeat(clock, settings, 2 * settings.bytes, stop, [&]() -> absl::Status {
                     RETURN_IF_ERROR(send(other.get()));
                     RETURN_IF_ERROR(receive());
                     RETURN_IF_ERROR(wait(out));
                     return wait(back);
                   }));
  return result;
}

absl::StatusOr<PeerCopies> MeasurePeerCopies(const CudaContext& from, const CudaContext& to,
                                             Clock& clock, const CopySettings& settings,
                                             const std::function<bool()>& stop) {
  PeerCopies result;
  PeerPath path(from, to);
  ASSIGN_OR_RETURN(result.direct, path.Open());
  ASSIGN_OR_RETURN(const HostMemory host, from.AllocateHost(settings.bytes));
  ASSIGN_OR_RETURN(const DeviceMemory source, from.Allocate(settings.bytes));
  ASSIGN_OR_RETURN(const DeviceMemory target, to.Allocate(settings.bytes));
  ASSIGN_OR_RETURN(const CudaStream stream, from.CreateStream());
  Fill(host.get(), settings.bytes, settings.seed);
  RETURN_IF_ERROR(from.CopyToDevice(source.get(), host.get(), settings.bytes, stream.get()));
  RETURN_IF_ERROR(from.Synchronize(stream.get()));
  ASSIGN_OR_RETURN(
      result.gbytes_per_s, Repeat(clock, settings, settings.bytes, stop, [&]() -> absl::Status {
        RETURN_IF_ERROR(
            from.CopyToPeer(to, target.get(), source.get(), settings.bytes, stream.get()));
        return from.Synchronize(stream.get());
      }));
  std::memset(host.get(), 0, settings.bytes);
  RETURN_IF_ERROR(to.CopyToHost(host.get(), target.get(), settings.bytes, nullptr));
  RETURN_IF_ERROR(to.Synchronize(nullptr));
  result.damage = FindDamage(host.get(), settings.bytes, settings.seed);
  return result;
}

}  // namespace muster::burnin
