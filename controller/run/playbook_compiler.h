// The real collaborators of the run engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "controller/run/collaborators.h"

namespace muster::controller {

class BlobStore;

// The compiler of controller/playbook.
class PlaybookCompiler final : public Compiler {
 public:
  absl::StatusOr<std::shared_ptr<const Playbook>> Load(const FileTree& site,
                                                       absl::string_view path) override;
  std::vector<std::string> Plays(const Playbook& playbook) override;
  absl::StatusOr<std::vector<std::string>> SelectNodes(const Playbook& playbook, size_t play_index,
                                                       const Inventory& inventory,
                                                       absl::string_view limit) override;
  std::vector<NodePlan> Compile(const Playbook& playbook, size_t play_index,
                                const Inventory& inventory, const FactsByNode& facts,
                                const std::vector<std::string>& nodes,
                                const CompileOptions& options, SecretSource& secrets) override;
};

// Revisions of the inventory out of the store; the newest few stay parsed. Must not be called
// inside a transaction.
class StoredInventory final : public InventorySource {
 public:
  explicit StoredInventory(Store& store) : store_(store) {}
  absl::StatusOr<InventoryVersion> Latest() override;
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t revision) override;

 private:
  static constexpr size_t kKept = 4;

  Store& store_;
  absl::Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Inventory>> parsed_ ABSL_GUARDED_BY(mutex_);
};

// For RunCollaborators. `blobs` must outlive the functions.
std::function<absl::StatusOr<FileTree>(const std::string& sha256)> BundleLoader(BlobStore& blobs);
std::function<absl::Status(const std::string& sha256, const std::string& content)> BlobKeeper(
    BlobStore& blobs);

}  // namespace muster::controller
