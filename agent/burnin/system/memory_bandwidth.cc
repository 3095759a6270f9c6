#include "agent/burnin/system/memory_bandwidth.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace muster::burnin {
namespace {

constexpr double kFactor = 3;
constexpr double kB = 2, kC = 1;

// The arrays of one thread, written first by the thread that uses them: that decides which memory
// controller they belong to.
struct Arrays {
  explicit Arrays(size_t elements)
      : elements(elements),
        a(new double[elements]),
        b(new double[elements]),
        c(new double[elements]) {
    std::fill_n(a.get(), elements, 0.0);
    std::fill_n(b.get(), elements, kB);
    std::fill_n(c.get(), elements, kC);
  }
  void Copy() {
    const double* from = b.get();
    double* to = a.get();
    for (size_t i = 0; i < elements; ++i) to[i] = from[i];
  }
  void Triad() {
    const double* x = b.get();
    const double* y = c.get();
    double* to = a.get();
    for (size_t i = 0; i < elements; ++i) to[i] = x[i] + kFactor * y[i];
  }
  size_t CountWrong() const {
    return static_cast<size_t>(std::count_if(
        a.get(), a.get() + elements, [](double value) { return value != kB + kFactor * kC; }));
  }

  const size_t elements;
  const std::unique_ptr<double[]> a, b, c;
};

}  // namespace

MemoryRates MeasureMemory(Clock& clock, int threads, size_t bytes, absl::Time deadline) {
  const size_t elements = std::max<size_t>(bytes / (3 * sizeof(double)) / threads, 1);
  const double all = static_cast<double>(elements) * threads;
  MemoryRates rates;
  std::vector<size_t> wrong(threads, 0);
  bool last = false;
  std::barrier barrier(threads);
  const auto work = [&](int thread) {
    Arrays arrays(elements);
    while (true) {
      barrier.arrive_and_wait();
      const absl::Time start = clock.Now();
      arrays.Copy();
      barrier.arrive_and_wait();
      const absl::Time between = clock.Now();
      arrays.Triad();
      barrier.arrive_and_wait();
      if (thread == 0) {
        const absl::Time end = clock.Now();
        const auto rate = [all](double element_bytes, absl::Duration time) {
          return time > absl::ZeroDuration()
                     ? all * element_bytes / absl::ToDoubleSeconds(time) / 1e9
                     : 0;
        };
        rates.copy = std::max(rates.copy, rate(16, between - start));
        rates.triad = std::max(rates.triad, rate(24, end - between));
        last = end >= deadline;
      }
      wrong[thread] += arrays.CountWrong();
      barrier.arrive_and_wait();
      if (last) return;
    }
  };
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) workers.emplace_back(work, thread);
  for (std::thread& worker : workers) worker.join();
  for (const size_t count : wrong) rates.wrong += count;
  return rates;
}

CheckResult RunMemoryBandwidth(CheckContext& context) {
  const int threads = std::max(1u, std::thread::hardware_concurrency());
  const absl::Duration duration = absl::Seconds(context.parameters.Number("duration"));
  context.reporter.SetPhase(absl::StrCat("copy and triad, ", threads, " threads"), std::nullopt);
  const MemoryRates rates =
      MeasureMemory(context.clock, threads, static_cast<size_t>(context.parameters.Number("size")),
                    context.clock.Now() + duration);
  CheckResult result;
  AddMetric(result, "copy_gbytes_per_s", "", "", rates.copy);
  AddMetric(result, "triad_gbytes_per_s", "", "", rates.triad);
  if (rates.wrong > 0)
    AddFault(result, "memory_mismatch", "",
             absl::StrCat(rates.wrong, " numbers in memory differed from the written ones"));
  result.tools.push_back(absl::StrCat("own loops, ", threads, " threads"));
  return result;
}

}  // namespace muster::burnin
