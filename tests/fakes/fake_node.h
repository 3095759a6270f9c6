// A whole node in memory: everything that resources touch.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/resources/types.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "tests/fakes/fake_accounts.h"
#include "tests/fakes/fake_block_devices.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_package_manager.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fakes/fake_unit_manager.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::testing {

class FakeBlobSource final : public agent::BlobSource {
 public:
  // Returns the digest.
  std::string Add(std::string content) {
    const std::string digest = Sha256Hex(content);
    blobs_[digest] = std::move(content);
    return digest;
  }
  absl::StatusOr<std::string> Get(const std::string& sha256, uint64_t size) override {
    const auto it = blobs_.find(sha256);
    if (it == blobs_.end()) return absl::NotFoundError(absl::StrCat("there is no blob ", sha256));
    return it->second;
  }
  // Contents of urls are added as blobs too.
  absl::StatusOr<agent::StoredContent> Fetch(const agent::Content& content,
                                             agent::ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::string data, Get(content.sha256, content.size));
    if (folder_ == nullptr) folder_ = std::make_unique<TempDir>();
    const std::string path = folder_->path() + "/" + content.sha256;
    std::ofstream(path, std::ios::binary) << data;
    return agent::StoredContent{.path = path, .may_move = true};
  }

 private:
  std::map<std::string, std::string> blobs_;
  std::unique_ptr<TempDir> folder_;
};

// Keeps a resource's reports while it applies.
class RecordingObserver final : public agent::ApplyObserver {
 public:
  void OnActivity(absl::string_view activity, std::optional<float> percent) override {
    activities.emplace_back(activity);
  }
  void OnOutput(absl::string_view text) override { output.append(text.data(), text.size()); }

  std::vector<std::string> activities;
  std::string output;
};

struct FakeNode {
  FakeFileSystem files;
  FakeProcessRunner processes;
  FakeUnitManager units;
  FakePackageManager packages;
  FakeAccounts accounts;
  FakeBlobSource blobs;
  agent::ResourceRecords records{"/var/lib/muster/records", files};
  FakeClock clock;
  FakeBlockDevices disks;
  agent::ResourceContext context = {files, processes, units, packages, accounts,
                                    blobs, records,   clock, disks};
};

}  // namespace muster::testing
