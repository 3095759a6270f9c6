// Folds the findings of a check run over equal nodes into a plan file. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/plan_file.pb.h"

namespace muster::v1 {
class NodeStepResult;
class Run;
}  // namespace muster::v1

namespace muster::cli {

// Takes results one by one. Its memory grows with the number of different outcomes, and by one
// number for each result.
class PlanFolder {
 public:
  // REQUIRES: results are added in the order in which they arrived.
  void Add(const v1::NodeStepResult& result);
  // `run` is the run after its end. Sets plays, left_out and validations: nodes that are not done
  // are in no play.
  v1::PlanFile Finish(const v1::Run& run);

 private:
  struct Outcome {
    v1::PlannedOutcome message;
    std::vector<uint32_t> nodes;
  };
  struct Step {
    v1::PlannedStep message;
    std::vector<Outcome> outcomes;
    std::map<std::string, size_t> known;  // index in outcomes, by their serialized bytes
  };
  using Steps = std::list<Step>;
  struct Role {
    std::string name;
    Steps steps;
    std::map<std::string, Steps::iterator> known;  // by step id
    std::map<uint32_t, Steps::iterator> last;      // by node: where its next step goes
  };
  struct Play {
    std::list<Role> roles;
    std::map<std::string, Role*> known;  // by name
  };

  uint32_t NodeIndex(const std::string& node);
  Step& Find(Role& role, uint32_t node, const v1::StepResult& result);

  std::map<uint32_t, Play> plays_;
  std::vector<std::string> nodes_;
  std::map<std::string, uint32_t> node_index_;
};

}  // namespace muster::cli
