// Runs muster-burnin with fake GPUs and reads its output.
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
  std::vector<std::string> lines;  // complete output
  nlohmann::json result;           // of the last line; null: there was none

  std::string outcome() const { return result.value("outcome", ""); }
  std::string reason() const { return result.value("reason", ""); }
  // NaN: it is missing.
  double Metric(const std::string& name, const std::string& variant,
                const std::string& subject) const;
  // The faults with this code.
  std::vector<nlohmann::json> Faults(const std::string& code) const;
};

// `gpus`: the list "gpus" of the fake's file. Arguments are passed on unchanged.
WorkerRun RunWorker(const std::string& gpus, std::vector<std::string> arguments,
                    absl::Duration timeout = absl::Minutes(4));

// The libraries that exist to drive the GPUs.
struct FakeDriver {
  int cuda_version = 12040;
  bool nccl = true;
  // The field "cublas" of the fake's file; "": there is no cuBLAS.
  std::string cublas = {};
};
WorkerRun RunWorker(const FakeDriver& driver, const std::string& gpus,
                    std::vector<std::string> arguments, absl::Duration timeout = absl::Minutes(4));

// The uuid that the fake gives the GPU with that index.
std::string UuidOf(int gpu);
std::string SlotOf(int gpu);

}  // namespace muster::burnin
