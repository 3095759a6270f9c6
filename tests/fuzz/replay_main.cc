// Runs a fuzz target once over every file of the folders named on the command line, in order of
// name, and over each file cut off in the middle. Fails if there was nothing to run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    const auto* data = reinterpret_cast<const uint8_t*>(text.data());
    LLVMFuzzerTestOneInput(data, text.size());
    LLVMFuzzerTestOneInput(data, text.size() / 2);
  }
  if (files.empty()) std::fprintf(stderr, "no files to replay\n");
  return files.empty() ? 1 : 0;
}
