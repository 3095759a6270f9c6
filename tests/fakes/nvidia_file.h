// The file that controls the fake NVIDIA libraries, for the duration of a test.
#pragma once

#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fakes/temp_dir.h"

namespace muster::testing {

// Names its file in the environment, for this process and its children.
class NvidiaFile {
 public:
  explicit NvidiaFile(const std::string& json) {
    setenv("MUSTER_FAKE_NVIDIA", path().c_str(), 1);
    Write(json);
  }
  ~NvidiaFile() { unsetenv("MUSTER_FAKE_NVIDIA"); }

  // In one step, so that a running fake never reads half of it.
  void Write(const std::string& json) {
    std::ofstream(path() + ".new") << json;
    std::rename((path() + ".new").c_str(), path().c_str());
  }
  std::string path() const { return folder_.path() + "/nvidia.json"; }

 private:
  TempDir folder_;
};

}  // namespace muster::testing
