#include "agent/facts/slurm_gpu_type.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

// Words that name makers, lines, memory kinds and form factors rather than the model.
constexpr std::array kNoise = {"nvidia", "geforce", "tesla", "quadro", "graphics", "device",
                               "pcie",   "sxm",     "sxm2",  "sxm3",   "sxm4",     "sxm5",
                               "hbm2",   "hbm2e",   "hbm3",  "hbm3e",  "nvl",      "generation"};

bool IsMemorySize(absl::string_view word) {
  return absl::EndsWith(word, "gb") && word.size() > 2 && absl::ascii_isdigit(word.front());
}

}  // namespace

std::string SlurmGpuType(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(lower, absl::ByAnyChar(" -_/"), absl::SkipEmpty())) {
    const bool noise = std::any_of(kNoise.begin(), kNoise.end(),
                                   [word](const char* known) { return word == known; });
    if (noise || IsMemorySize(word)) continue;
    std::string clean;
    for (const char c : word)
      if (absl::ascii_isalnum(c)) clean += c;
    if (!clean.empty()) words.push_back(std::move(clean));
  }
  return words.empty() ? "gpu" : absl::StrJoin(words, "_");
}

}  // namespace muster::agent
