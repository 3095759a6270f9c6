// Nodes that ask for permission to reboot in a run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/gate/reboot_drains.h"
#include "controller/run/collaborators.h"
#include "controller/run/run_state.h"

namespace muster::v1 {
class RebootRequest;
class RebootResource;
}  // namespace muster::v1

namespace muster::controller {

struct ActiveRun;
struct RebootRecord;

// The permits themselves are parts of their runs. A permit is stored before it is sent, with the
// node's state in the run and an entry in the audit log.
//
// A worker gets its permit only when Slurm has it drained and, asked after that, has no job on it.
// The run holds it for that, by a row {node, owner, reason} that the gate follows, until the node
// has finished its play or left the run. Not thread-safe.
class RebootPermits {
 public:
  // For one node in one run, limits its requests: each leaves entries in the audit log.
  static constexpr int kMaxQuestions = 100;
  // How long a worker waits for its drain before it is refused: longer than slurmctld's node takes
  // for a reboot in the same run.
  static constexpr absl::Duration kDrainPatience = absl::Minutes(20);

  using FindRun = std::function<ActiveRun*(absl::string_view run_id)>;
  // All runs that are in progress.
  using AllRuns = std::function<std::vector<const ActiveRun*>()>;
  // Carries out what follows from the node's new state.
  using Perform = std::function<void(ActiveRun& run, RunActions actions)>;

  // `with` must outlive the object.
  RebootPermits(const RunCollaborators& with, AllRuns all_runs, Perform perform);

  // Takes up the permits that an earlier process gave, and its holds.
  absl::Status Resume(ActiveRun& run, std::vector<RunNode>& nodes);
  // Answers at once, or not at all while the answer is not known, while Slurm has yet to drain the
  // node, or while too many nodes reboot beside this one (see reboot_room.h): the agent asks again,
  // and the run's watchers see why.
  void Answer(const std::string& uuid, const v1::RebootRequest& request, const FindRun& find);
  // Ends the run's permits and holds whose nodes do not need them any more, and takes back the
  // images that were ordered for them and were not written.
  void End(ActiveRun& run);
  // Takes back what was ordered for the permits of a run that an earlier process left and that
  // cannot go on.
  void TakeBackAll(const std::string& run_id);
  // Ends all holds of a run that is over, in the transaction that ends it.
  static absl::Status FreeAll(Transaction& txn, const std::string& run_id);

 private:
  // Why the node has to wait for others, by the inventory in force. Empty: it does not.
  absl::StatusOr<std::string> WhyWait(const ActiveRun& run, const std::string& node);
  // Whether Slurm may start jobs on it, as far as the inventory in force tells.
  bool IsWorker(const std::string& node);
  // Holds the node and looks at what Slurm has of it.
  validation::DrainAnswer Drain(ActiveRun& run, const RunNode& node,
                                const v1::RebootRequest& request);
  // Whether a permit may be given now; otherwise refuses the question, or shows why it waits.
  bool IsDrained(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request);
  // Ends the holds of these nodes.
  void Free(ActiveRun& run, const std::vector<std::string>& nodes);
  void NoteBegin(const std::string& node, absl::Time begun);
  void ShowWait(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request,
                const std::string& why);
  // The permit's id is that of its order, by which the order is known again. `permit` is stored
  // with the order: one that nobody knows would write the image at a later boot.
  absl::Status OrderImage(const RebootRecord& reboot, const std::string& image,
                          const std::string& creator,
                          absl::FunctionRef<absl::Status(Transaction&)> permit) const;
  // An order that somebody has given since then stays.
  absl::Status TakeBack(const RebootRecord& reboot) const;
  void Grant(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request,
             const v1::RebootResource& reboot);
  void Refuse(ActiveRun* run, const std::string& uuid, const std::string& node,
              const v1::RebootRequest& request, const std::string& why);

  const RunCollaborators& with_;
  const AllRuns all_runs_;
  const Perform perform_;
  // When the last reboot began in each rack. Before the first since the start of the process: those
  // that are still open.
  std::map<std::string, absl::Time> last_in_rack_;
};

}  // namespace muster::controller
