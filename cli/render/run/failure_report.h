// The failures of a run; equal failures of several nodes are reported once. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::v1 {
class NodeRecap;
class NodeStepResult;
}  // namespace muster::v1

namespace muster::cli {

// Nodes that ended for a reason that no step of theirs explains, above all a playbook that does not
// compile for them. Equal ends of a thousand nodes are reported once.
class EndReport {
 public:
  void Add(const v1::NodeRecap& recap);
  // "c[001-040]: failed" and the reason, indented; empties the report. Empty: nothing was added.
  std::string Take();

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> ends_;  // text, nodes
};

// Keeps the output of one node for each failure, and of at most kMaxKept failures.
class FailureReport {
 public:
  static constexpr size_t kMaxKept = 100;

  // `lines`: how many of the last lines of the programs' output are shown. 0: all.
  explicit FailureReport(size_t lines) : lines_(lines) {}

  void Add(const v1::NodeStepResult& result);
  // "c[001-040]: failed  munge: shared key", then the message, what changed and what was printed,
  // indented. Empty: nothing failed.
  std::string Render() const;

 private:
  struct Failure {
    std::vector<std::string> nodes;
    std::string text;    // after the nodes
    std::string output;  // of the first node
    bool told = false;   // the message contains the output
    bool outputs_differ = false;
  };
  std::string Printed(const Failure& failure) const;

  const size_t lines_;
  std::vector<Failure> failures_;
  std::map<std::string, size_t> known_;  // place in failures_ by title and message
};

}  // namespace muster::cli
