// Runs muster-burnin with fake GPUs and reads what it printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::burnin {

struct WorkerRun {
  int exit_code = 0;
  int signal = 0;
  bool timed_out = false;
  std::vector<std::string> lines;  // all that it printed
  nlohmann::json result;           // of the last line; null: there was none

  std::string outcome() const { return result.value("outcome", ""); }
  std::string reason() const { return result.value("reason", ""); }
  // NaN: it is not there.
  double Metric(const std::string& name, const std::string& variant,
                const std::string& subject) const;
  // The faults with this code.
  std::vector<nlohmann::json> Faults(const std::string& code) const;
};

// `gpus`: the list "gpus" of the fake's file. Each argument is given as it is.
WorkerRun RunWorker(const std::string& gpus, std::vector<std::string> arguments,
                    absl::Duration timeout = absl::Minutes(4));

// What is there for the GPUs to be driven by.
struct FakeDriver {
  int cuda_version = 12040;
  bool nccl = true;
};
WorkerRun RunWorker(const FakeDriver& driver, const std::string& gpus,
                    std::vector<std::string> arguments, absl::Duration timeout = absl::Minutes(4));

// As the fake makes it: of the GPU with that index.
std::string UuidOf(int gpu);
std::string SlotOf(int gpu);

}  // namespace muster::burnin
