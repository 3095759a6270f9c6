// The production collaborators of the run engine.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "controller/run/collaborators.h"

namespace muster::controller {

class BlobStore;

// The compiler of controller/playbook. Thread-safe.
class PlaybookCompiler final : public Compiler {
 public:
  // The last playbook is kept and returned for the same files: the question before a run, the run
  // and mostly the next one are about the same site, which is parsed as a whole.
  absl::StatusOr<std::shared_ptr<const Playbook>> Load(const FileTree& site,
                                                       absl::string_view path) override;
  std::vector<std::string> Plays(const Playbook& playbook) override;
  absl::Status CheckTags(const Playbook& playbook, const std::vector<std::string>& tags) override;
  absl::Status CheckVariableNames(const FileTree& site, const Inventory& inventory,
                                  const CompileOptions& options) override;
  absl::StatusOr<std::vector<std::string>> SelectNodes(const Playbook& playbook, size_t play_index,
                                                       const Inventory& inventory,
                                                       absl::string_view limit) override;
  absl::StatusOr<std::vector<PlaybookEnding>> SelectEndings(
      const Playbook& playbook, const Inventory& inventory, absl::string_view limit,
      const std::vector<std::string>& tags) override;
  void Compile(const Playbook& playbook, size_t play_index, const Inventory& inventory,
               const FactsByNode& facts, const std::vector<std::string>& nodes,
               const CompileOptions& options, SecretSource& secrets, size_t batch,
               absl::FunctionRef<bool(std::vector<NodePlan>)> take) override;

 private:
  struct Loaded {
    FileTree site;
    std::string path;
    std::shared_ptr<const Playbook> playbook;
  };

  absl::Mutex mutex_;
  std::shared_ptr<const Loaded> last_ ABSL_GUARDED_BY(mutex_);
};

// For RunCollaborators. `blobs` must outlive the functions.
std::function<absl::StatusOr<FileTree>(const std::string& sha256)> BundleLoader(BlobStore& blobs);
std::function<absl::Status(const std::string& sha256, const std::string& content)> BlobKeeper(
    BlobStore& blobs);

}  // namespace muster::controller
