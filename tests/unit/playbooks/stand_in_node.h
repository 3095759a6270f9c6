// A folder that stands for a node, in which the commands and programs of a plan run on this
// machine.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

class StandInNode {
 public:
  // `name` is unique within the test program. Paths that begin with one of `moved` are the
  // folder's.
  StandInNode(const std::string& name, const std::vector<std::string>& moved)
      : root_(absl::StrCat(::testing::TempDir(), "/", name, "-", getpid())) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/bin");
    for (const std::string& path : moved) moved_.emplace_back(path, root_ + path);
  }
  ~StandInNode() { std::filesystem::remove_all(root_); }
  StandInNode(const StandInNode&) = delete;
  StandInNode& operator=(const StandInNode&) = delete;

  const std::string& root() const { return root_; }

  bool Exists(const std::string& path) const { return std::filesystem::exists(root_ + path); }
  std::string Read(const std::string& path) const {
    std::ifstream in(root_ + path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    std::filesystem::permissions(root_ + path, std::filesystem::perms(0755));
  }
  // A program of the node's, which has the paths of the node.
  void Install(const std::string& path, const std::string& text) const {
    Write(path, absl::StrReplaceAll(text, moved_));
  }
  // A stand-in for a program of the distribution.
  void Program(const std::string& name, const std::string& command) const {
    Write("/bin/" + name, absl::StrCat("#!/bin/bash\n", command, "\n"));
  }

  // The exit status of `argv`, which has the paths of the node, and `input` on its standard input;
  // what it says is in output().
  template <typename Words>
  int Run(const Words& argv, const std::string& input = "") {
    sys::ProcessSpec spec;
    spec.input = input;
    spec.argv = {"/usr/bin/env", absl::StrCat("PATH=", root_, "/bin:", sys::kStandardPath)};
    for (const std::string& word : argv) spec.argv.push_back(absl::StrReplaceAll(word, moved_));
    spec.timeout = absl::Seconds(60);
    const auto result = sys::RealProcessRunner().Run(spec);
    EXPECT_OK(result);
    if (!result.ok()) return -1;
    output_ = result->output;
    return result->exit_code;
  }
  const std::string& output() const { return output_; }

 private:
  const std::string root_;
  std::vector<std::pair<std::string, std::string>> moved_;
  std::string output_;
};

}  // namespace muster::controller
