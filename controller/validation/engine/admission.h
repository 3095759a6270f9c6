// The way of a validation from a request to its begin.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/validation/engine/collaborators.h"
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/schedule/validation_state.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
struct ValidationRecord;
}

namespace muster::controller::validation {

struct ActiveValidation;

// Enrolled nodes by name, as they are now.
absl::StatusOr<std::map<std::string, EnrolledNode>> EnrolledNodes(Store& store);

// Reads the suite and the hardware files for the nodes of `record`. `stored`: the checks that an
// earlier process left. Errors: theirs, with their place.
absl::StatusOr<std::unique_ptr<ActiveValidation>> PrepareValidation(
    const ValidationCollaborators& with, const ValidationRecord& record,
    std::shared_ptr<const Inventory> inventory, const std::map<std::string, EnrolledNode>& enrolled,
    std::vector<CheckPart> stored);

// FailedPrecondition: a run or another validation works on one of the nodes.
absl::Status ClaimNodes(NodeClaims& claims, const ActiveValidation& validation);

// A validation that is ready to begin, with all that it holds: its nodes' claims, and Slurm's
// nodes. Whatever it did not hand on by Take() it gives back when it goes. Needs no engine, so that
// nobody waits for Slurm or the disk but who asks. Not thread-safe.
class Admission {
 public:
  // Checks the request, and claims the nodes. Errors: as PrepareValidation() and ClaimNodes().
  // `with` must outlive the object.
  static absl::StatusOr<Admission> Open(const ValidationCollaborators& with,
                                        const v1::CreateValidationRequest& request,
                                        const Actor& actor);
  Admission(Admission&& other);
  Admission& operator=(Admission&&) = delete;
  ~Admission();

  // Takes the nodes from Slurm's jobs. Errors: as JobGate::Hold(). Blocks for Slurm.
  absl::Status Hold();
  // Adds a witness, if the validation needs one that can be had. Blocks for Slurm.
  void BorrowWitness();

  const ActiveValidation& validation() const { return *validation_; }
  // The validation is stored: its claims are its own from now on, and nothing else may be called.
  std::unique_ptr<ActiveValidation> Take();

 private:
  Admission(const ValidationCollaborators& with, std::unique_ptr<ActiveValidation> validation);

  std::vector<std::string> WitnessCandidates() const;
  // Has the validation made with this node, too. On an error it stays as it was.
  absl::Status AddWitness(const std::string& node);

  const ValidationCollaborators& with_;
  std::string id_;  // empty: moved from
  bool is_held_ = false;
  std::unique_ptr<ActiveValidation> validation_;
};

}  // namespace muster::controller::validation
