#include "controller/run/plan/playbook_compiler.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "controller/artifact/bundle_upload.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {

absl::StatusOr<std::shared_ptr<const Playbook>> PlaybookCompiler::Load(const FileTree& site,
                                                                       absl::string_view path) {
  std::shared_ptr<const Loaded> last;
  {
    absl::MutexLock lock(&mutex_);
    last = last_;
  }
  if (last != nullptr && last->path == path && last->site == site) return last->playbook;
  ASSIGN_OR_RETURN(std::shared_ptr<const Playbook> playbook, LoadPlaybook(site, path));
  auto loaded = std::make_shared<Loaded>(Loaded{site, std::string(path), playbook});
  absl::MutexLock lock(&mutex_);
  last_ = std::move(loaded);
  return playbook;
}

std::vector<std::string> PlaybookCompiler::Plays(const Playbook& playbook) {
  return PlayNames(playbook);
}

absl::Status PlaybookCompiler::CheckTags(const Playbook& playbook,
                                         const std::vector<std::string>& tags) {
  return Annotate(controller::CheckTags(playbook, tags), "--tags");
}

absl::Status PlaybookCompiler::CheckVariableNames(const FileTree& site, const Inventory& inventory,
                                                  const CompileOptions& options) {
  return controller::CheckVariableNames(site, inventory, options.extra_vars);
}

absl::StatusOr<std::vector<std::string>> PlaybookCompiler::SelectNodes(const Playbook& playbook,
                                                                       size_t play_index,
                                                                       const Inventory& inventory,
                                                                       absl::string_view limit) {
  return SelectPlayNodes(playbook, play_index, inventory, limit);
}

absl::StatusOr<std::vector<PlaybookEnding>> PlaybookCompiler::SelectEndings(
    const Playbook& playbook, const Inventory& inventory, absl::string_view limit,
    const std::vector<std::string>& tags) {
  return controller::SelectEndings(playbook, inventory, limit, tags);
}

void PlaybookCompiler::Compile(const Playbook& playbook, size_t play_index,
                               const Inventory& inventory, const FactsByNode& facts,
                               const std::vector<std::string>& nodes, const CompileOptions& options,
                               SecretSource& secrets, size_t batch,
                               absl::FunctionRef<bool(std::vector<NodePlan>)> take) {
  CompilePlayInBatches(playbook, play_index, inventory, facts, nodes, options, secrets, batch,
                       take);
}

std::function<absl::StatusOr<FileTree>(const std::string&)> BundleLoader(BlobStore& blobs) {
  return [&blobs](const std::string& sha256) -> absl::StatusOr<FileTree> {
    if (!IsSha256(sha256)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", sha256, "' is not the digest of a bundle"));
    }
    absl::StatusOr<std::string> archive = blobs.ReadAll(sha256, kMaxBundleBytes);
    if (!archive.ok()) return Annotate(archive.status(), absl::StrCat("bundle ", sha256));
    return sys::UnpackTarGz(*archive);
  };
}

std::function<absl::Status(const std::string&, const std::string&)> BlobKeeper(BlobStore& blobs) {
  return [&blobs](const std::string& sha256, const std::string& content) -> absl::Status {
    if (blobs.Refresh(sha256)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string kept, blobs.Put(content));
    if (kept == sha256) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("a content of digest ", kept, " was named ", sha256));
  };
}

}  // namespace muster::controller
