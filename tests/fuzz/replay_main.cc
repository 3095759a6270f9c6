// Runs a fuzz target once over every file of the folders named on the command line, in order of
// name, and over each file cut off in the middle. Fails if there was nothing to run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace muster::testing {
namespace {

std::map<std::string, FuzzTarget>& Targets() {
  static auto& targets = *new std::map<std::string, FuzzTarget>();
  return targets;
}

int Replay(FuzzTarget target, const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    const auto* data = reinterpret_cast<const uint8_t*>(text.data());
    target(data, text.size());
    target(data, text.size() / 2);
  }
  if (files.empty()) std::fprintf(stderr, "no files to replay\n");
  return files.empty() ? 1 : 0;
}

}  // namespace

bool AddFuzzTarget(const char* name, FuzzTarget target) {
  return Targets().emplace(name, target).second;
}

}  // namespace muster::testing

int main(int argc, char** argv) {
  const auto& targets = muster::testing::Targets();
  const auto target = targets.find(argc > 1 ? argv[1] : "");
  if (target == targets.end()) {
    std::fprintf(stderr, "fuzz_corpora TARGET FOLDER…; targets:\n");
    for (const auto& [name, run] : targets) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return muster::testing::Replay(target->second, files);
}
