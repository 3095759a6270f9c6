// The boots of a cluster of two nodes, with a real store and real images.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/boot/boots.h"
#include "controller/image/image_store.h"
#include "controller/inventory/inventory.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller::boot {

inline constexpr char kMac[] = "0c:42:a1:00:12:01";
inline constexpr char kPeer[] = "ipv4:10.0.0.11:5000";

class BootsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = OpenStore(folder_ + "/muster.db").value();
    images_ = image::ImageStore::Open(folder_ + "/images", uint64_t{1} << 40).value();
    Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01"}
  c002: {role: compute})");
    Open();
  }

  void Describe(const std::string& nodes) {
    inventory_ = std::make_shared<const Inventory>(
        ParseInventory({{"c.yaml", absl::StrCat("cluster: test\nnodes:", nodes, "\n")}}).value());
  }
  // A controller that starts.
  void Open() {
    boots_ = std::make_unique<Boots>(Boots::Means{
        .store = *store_,
        .clock = clock_,
        .images = *images_,
        .inventory = [this]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
          RETURN_IF_ERROR(unreadable_);
          return inventory_;
        },
        .warn =
            [this](absl::string_view) {
              absl::MutexLock lock(&mutex_);
              ++refusals_;
            },
        .join = {.node = "",
                 .enrollment = "login1:7444",
                 .controller = "login1:7443",
                 .ca_pin = "sha256:ab"},
        .listen = listen_,
    });
    ASSERT_OK(boots_->Start());
  }
  void Restart() {
    boots_.reset();
    Open();
  }
  // A store that takes nothing until it is told to.
  muster::testing::FailingStore& UseRefusingStore() {
    boots_.reset();
    auto refusing = std::make_unique<muster::testing::FailingStore>(std::move(store_));
    muster::testing::FailingStore& store = *refusing;
    store_ = std::move(refusing);
    Open();
    store.refuse = true;
    return store;
  }
  // So many times the thread has tried in vain to write what waits.
  void AwaitRefusals(int count) {
    absl::MutexLock lock(&mutex_);
    const auto are_there = [&] { return refusals_ >= count; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&are_there), absl::Seconds(20)));
  }

  v1::Image Keep(const std::string& name, const std::string& root,
                 const std::string& kind = "ram") {
    v1::ImageManifest manifest;
    manifest.set_name(name);
    manifest.set_kind(kind);
    if (kind == "disk") {
      manifest.mutable_disk()->set_device("blank");
      manifest.mutable_disk()->set_esp_mib(512);
      manifest.mutable_disk()->set_root_mib(1024);
    }
    manifest.set_distribution("debian12");
    manifest.set_architecture("amd64");
    for (const auto& [artifact, content] :
         {std::pair<std::string, std::string>{"initrd", "the initrd"},
          std::pair<std::string, std::string>{"kernel", "the kernel"},
          std::pair<std::string, std::string>{"root.squashfs", root}}) {
      auto upload = images_->artifacts().Begin(Sha256Hex(content), content.size()).value();
      EXPECT_OK(upload->Append(content));
      EXPECT_OK(upload->Finish(clock_.Now()));
      v1::ImageArtifact& added = *manifest.add_artifacts();
      added.set_name(artifact);
      added.set_sha256(Sha256Hex(content));
      added.set_size_bytes(content.size());
    }
    return **images_->Keep(manifest, clock_.Now(), "admin:alice");
  }

  v1::Image Sign(const v1::Image& image) {
    const std::string content = "signed";
    auto upload = images_->artifacts().Begin(Sha256Hex(content), content.size()).value();
    EXPECT_OK(upload->Append(content));
    EXPECT_OK(upload->Finish(clock_.Now()));
    v1::SignedKernel kernel;
    kernel.mutable_artifact()->set_name("signed.efi");
    kernel.mutable_artifact()->set_sha256(Sha256Hex(content));
    kernel.mutable_artifact()->set_size_bytes(content.size());
    if (image.manifest().has_disk()) {
      *kernel.mutable_loader() = kernel.artifact();
      kernel.mutable_loader()->set_name("loader.efi");
    }
    kernel.set_certificate_sha256(Sha256Hex("certificate"));
    kernel.set_command_line(boots_->CommandLineOf(image).value());
    return **images_->KeepSigned(image, kernel);
  }

  absl::Status Order(const std::string& what, bool once, const std::string& nodes = "c001") {
    return boots_->Set(*inventory_, Select(*inventory_, nodes).value(), *ParseBootChoice(what),
                       once, {.name = "admin:alice"});
  }
  v1::NodeBoot Shown(const std::string& node = "c001") {
    return boots_->Describe(*inventory_, *inventory_->FindNode(node));
  }
  std::vector<int> Phases() {
    std::vector<int> phases;
    const v1::NodeBoot shown = Shown();
    for (const v1::BootStep& step : shown.last().steps()) phases.push_back(step.phase());
    return phases;
  }
  static absl::Status Nothing(Transaction&) { return absl::OkStatus(); }
  // The machine boots from the script to the last byte of the root.
  Answer BootImage() {
    const Answer answer = boots_->Begin(kMac, kPeer).value();
    boots_->OnScriptSent(answer.boot_id);
    for (const char* artifact : {"kernel", "initrd", "root.squashfs"})
      boots_->OnArtifactSent(answer.boot_id, answer.image->digest(), artifact);
    return answer;
  }

  const muster::testing::TempDir temp_;
  const std::string folder_ = temp_.path();
  std::string listen_ = "10.0.0.1:7483";
  muster::testing::FakeClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<image::ImageStore> images_;
  std::shared_ptr<const Inventory> inventory_;
  absl::Status unreadable_;  // why the inventory is not read
  absl::Mutex mutex_;
  int refusals_ = 0;
  std::unique_ptr<Boots> boots_;
};

}  // namespace muster::controller::boot
