#include "controller/boot/boots.h"

#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/digest.h"
#include "controller/audit/audit.h"
#include "controller/image/image_store.h"
#include "controller/inventory/inventory.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::FakeClock;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMac[] = "0c:42:a1:00:12:01";
constexpr char kPeer[] = "ipv4:10.0.0.11:5000";

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
  FailingStore& UseRefusingStore() {
    boots_.reset();
    auto refusing = std::make_unique<FailingStore>(std::move(store_));
    FailingStore& store = *refusing;
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
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<image::ImageStore> images_;
  std::shared_ptr<const Inventory> inventory_;
  absl::Mutex mutex_;
  int refusals_ = 0;
  std::unique_ptr<Boots> boots_;
};

TEST_F(BootsTest, AMachineThatNobodyKnowsIsCountedAndNothingElse) {
  const Answer answer = boots_->Begin("aa:aa:aa:aa:aa:aa", kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kUnknown);
  EXPECT_EQ(answer.boot_id, "");
  ASSERT_THAT(boots_->ListUnknown().machines(), SizeIs(1));
  EXPECT_EQ(boots_->ListUnknown().machines(0).mac(), "aa:aa:aa:aa:aa:aa");
  // Until somebody describes it.
  Describe(R"(
  c001: {role: compute, mac: "aa:aa:aa:aa:aa:aa"})");
  EXPECT_EQ(boots_->Begin("aa:aa:aa:aa:aa:aa", kPeer)->kind, Answer::Kind::kDisk);
  EXPECT_THAT(boots_->ListUnknown().machines(), IsEmpty());
  EXPECT_EQ(boots_->ListUnknown().requests(), 1u);
}

TEST_F(BootsTest, AMachineThatNobodyKnowsBootsTheImageOfStrangers) {
  constexpr char kStranger[] = "aa:aa:aa:aa:aa:aa";
  constexpr char kNodes[] = "\n  c002: {role: compute}";
  Describe(absl::StrCat(kNodes, "\nvars: {boot_unknown: finder}"));
  // Until there is one, and where it would write their disks, they are left to their disks.
  Answer answer = boots_->Begin(kStranger, kPeer).value();
  EXPECT_EQ(answer.image, nullptr);
  EXPECT_THAT(answer.trouble, HasSubstr("finder"));
  Keep("finder", "a root for disks", "disk");
  answer = boots_->Begin(kStranger, kPeer).value();
  EXPECT_EQ(answer.image, nullptr);
  EXPECT_THAT(answer.trouble, HasSubstr("kind disk"));
  EXPECT_THAT(boots_->ListUnknown().trouble(), HasSubstr("kind disk"));
  const v1::Image image = Keep("finder", "a root");
  answer = boots_->Begin(kStranger, kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kUnknown);
  ASSERT_NE(answer.image, nullptr);
  EXPECT_EQ(answer.image->digest(), image.digest());
  EXPECT_EQ(answer.boot_id, "");

  EXPECT_EQ(boots_->ListUnknown().trouble(), "");

  v1::Facts facts;
  facts.mutable_machine()->set_serial("S1");
  EXPECT_EQ(boots_->OnDiscovery(kStranger, kPeer, facts, absl::Minutes(1)).value(), false);
  ASSERT_THAT(boots_->ListUnknown().machines(), SizeIs(1));
  EXPECT_EQ(boots_->ListUnknown().machines(0).facts().machine().serial(), "S1");
  EXPECT_TRUE(boots_->ListUnknown().machines(0).has_told_at());
  // Somebody makes a node of it, and it is told so.
  Describe("\n  c003: {role: compute, mac: \"aa:aa:aa:aa:aa:aa\"}\nvars: {boot_unknown: finder}");
  EXPECT_EQ(boots_->OnDiscovery(kStranger, kPeer, facts, absl::Minutes(1)).value(), true);
  EXPECT_THAT(boots_->ListUnknown().machines(), IsEmpty());
  EXPECT_EQ(boots_->Begin(kStranger, kPeer)->kind, Answer::Kind::kDisk);
}

TEST_F(BootsTest, NobodyTellsOfItselfUnasked) {
  EXPECT_THAT(boots_->OnDiscovery("aa:aa:aa:aa:aa:aa", kPeer, v1::Facts(), absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(boots_->ListUnknown().machines(), IsEmpty());
}

TEST_F(BootsTest, ANodeIsToldWhomToJoinWhereTheInventorySaysSo) {
  Keep("worker", "a root");
  Keep("debian-rescue", "another root");
  const auto join = [&](const std::string& vars) {
    Describe(absl::StrCat("\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\", vars: {", vars,
                          "}}\n"));
    return boots_->Begin(kMac, kPeer).value().join;
  };
  EXPECT_EQ(join("boot: worker"), "");
  EXPECT_EQ(join("boot: worker, boot_join: approve"), "c001,login1:7444,login1:7443,sha256:ab");
  EXPECT_EQ(join("boot: rescue, boot_join: approve"), "");
  EXPECT_EQ(join("boot: disk, boot_join: approve"), "");
}

TEST_F(BootsTest, StepsAreSeenOnceEachAndSurviveARestart) {
  const v1::Image image = Keep("worker", "the root");
  ASSERT_OK(Order("worker", false));
  const Answer answer = BootImage();
  EXPECT_EQ(answer.kind, Answer::Kind::kImage);
  EXPECT_EQ(answer.image->digest(), image.digest());
  boots_->OnArtifactSent(answer.boot_id, image.digest(), "kernel");
  const std::vector<int> phases = {v1::BOOT_PHASE_SCRIPT, v1::BOOT_PHASE_KERNEL,
                                   v1::BOOT_PHASE_INITRD, v1::BOOT_PHASE_ROOT};
  EXPECT_EQ(Phases(), phases);
  Restart();
  EXPECT_EQ(Phases(), phases);
  // The machine goes on with the addresses that it was given before.
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_VERIFIED, ""));
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_SWITCHED, ""));
  EXPECT_THAT(Phases(), SizeIs(6));
}

TEST_F(BootsTest, ARefusalHasBothDigests) {
  Keep("worker", "the root");
  ASSERT_OK(Order("worker", false));
  const Answer answer = BootImage();
  const std::string found(64, 'f');
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_REFUSED, found));
  const v1::BootStep step = *Shown().last().steps().rbegin();
  EXPECT_EQ(step.phase(), v1::BOOT_PHASE_REFUSED);
  EXPECT_THAT(step.detail(), ::testing::AllOf(::testing::HasSubstr(found),
                                              ::testing::HasSubstr(Sha256Hex("the root"))));
}

TEST_F(BootsTest, OnlyTheLastBootOfAnImageTakesReports) {
  Keep("worker", "the root");
  EXPECT_THAT(boots_->OnReport("none", v1::BOOT_PHASE_VERIFIED, ""),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  const std::string disk = boots_->Begin(kMac, kPeer)->boot_id;
  EXPECT_THAT(boots_->OnReport(disk, v1::BOOT_PHASE_VERIFIED, ""),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  ASSERT_OK(Order("worker", false));
  const std::string earlier = BootImage().boot_id;
  clock_.Advance(BootState::kSameBoot);
  const std::string later = BootImage().boot_id;
  EXPECT_THAT(boots_->OnReport(earlier, v1::BOOT_PHASE_VERIFIED, ""),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_OK(boots_->OnReport(later, v1::BOOT_PHASE_VERIFIED, ""));
}

TEST_F(BootsTest, AMachineThatAsksAgainAtOnceIsInTheSameBoot) {
  Keep("worker", "the root");
  const std::string first = boots_->Begin(kMac, kPeer)->boot_id;
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->boot_id, first);
  // Another answer is another boot.
  ASSERT_OK(Order("worker", true));
  const std::string second = boots_->Begin(kMac, kPeer)->boot_id;
  EXPECT_NE(second, first);
  clock_.Advance(BootState::kSameBoot);
  EXPECT_NE(boots_->Begin(kMac, kPeer)->boot_id, second);
}

TEST_F(BootsTest, AnOrderForAnImageIsUsedUpByItsRootAlone) {
  Keep("worker", "the root");
  ASSERT_OK(Order("worker", true));
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  boots_->OnScriptSent(answer.boot_id);
  boots_->OnArtifactSent(answer.boot_id, answer.image->digest(), "kernel");
  boots_->OnArtifactSent(answer.boot_id, answer.image->digest(), "initrd");
  // A machine that loses its power here boots the image again, and so does one after a restart of
  // the controller.
  clock_.Advance(absl::Minutes(1));
  Restart();
  EXPECT_TRUE(Shown().once());
  const Answer again = boots_->Begin(kMac, kPeer).value();
  EXPECT_EQ(again.kind, Answer::Kind::kImage);
  // A restart between the script and the root changes nothing either.
  Restart();
  boots_->OnArtifactSent(again.boot_id, again.image->digest(), "root.squashfs");
  EXPECT_EQ(Shown().next(), "disk");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  Restart();
  EXPECT_EQ(Shown().next(), "disk");
}

TEST_F(BootsTest, AnOrderForTheDiskIsUsedUpByItsScript) {
  Keep("worker", "the root");
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: worker}})");
  ASSERT_OK(Order("disk", true));
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kDisk);
  EXPECT_EQ(Shown().next(), "disk");  // nothing was sent yet
  boots_->OnScriptSent(answer.boot_id);
  EXPECT_EQ(Shown().next(), "worker");
}

TEST_F(BootsTest, ALaterOrderIsNotUsedUpByAnEarlierBoot) {
  Keep("worker", "the root");
  ASSERT_OK(Order("worker", true));
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  ASSERT_OK(Order("worker", true));
  boots_->OnArtifactSent(answer.boot_id, answer.image->digest(), "root.squashfs");
  EXPECT_EQ(Shown().next(), "worker");
}

TEST_F(BootsTest, AnImageThatIsGoneIsSaidAndTheOrderStays) {
  const v1::Image image = Keep("worker", "the root");
  ASSERT_OK(Order("worker", true));
  ASSERT_OK(images_->Remove(image, clock_.Now()));
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kNoImage);
  EXPECT_THAT(Phases(), ElementsAre(v1::BOOT_PHASE_NO_IMAGE));
  EXPECT_TRUE(Shown().once());
}

TEST_F(BootsTest, OrdersAreForNodesAndImagesThatAreThere) {
  Keep("worker", "the root");
  EXPECT_THAT(Order("worker", true, "c002"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(Order("other", true), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(Order("rescue", true), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_EQ(Shown().next(), "disk");
  ASSERT_OK(Order("worker", false));
  EXPECT_EQ(Shown().ordered_by(), "admin:alice");
  const auto nodes = Select(*inventory_, "all").value();
  EXPECT_THAT(boots_->Clear(nodes, {.name = "admin:alice"}).value(), ElementsAre("c001"));
  EXPECT_THAT(boots_->Clear(nodes, {.name = "admin:alice"}).value(), IsEmpty());
  Restart();
  EXPECT_EQ(Shown().next(), "disk");
  std::vector<std::string> audited;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    const std::vector<EventRecord> rows = txn.events().List(10, 0).value();
    for (const EventRecord& row : rows)
      audited.push_back(absl::StrCat(row.action, " ", row.subject, " ", row.detail));
    return absl::OkStatus();
  }));
  EXPECT_THAT(audited, ElementsAre("boot.clear c001 ", "boot.set c001 worker"));
}

TEST_F(BootsTest, AnImageForDisksIsWrittenOnce) {
  const v1::Image image = Keep("stateful", "the root", "disk");
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful, boot_disk: "serial:S1"}})");
  const Answer answer = BootImage();
  EXPECT_TRUE(answer.is_for_disk);
  EXPECT_EQ(answer.disk, "serial:S1");
  EXPECT_TRUE(Shown().last().writes_disk());
  // A machine that loses its power before the disk holds it writes it again.
  clock_.Advance(absl::Minutes(1));
  Restart();
  const Answer again = BootImage();
  EXPECT_EQ(again.kind, Answer::Kind::kImage);
  EXPECT_EQ(Shown().disk(), "");
  Restart();
  EXPECT_OK(boots_->OnReport(again.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(Shown().disk(), answer.what);
  clock_.Advance(absl::Minutes(1));
  Restart();
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  // What becomes of it is said by a boot that is not the last one, once.
  EXPECT_OK(boots_->OnReport(again.boot_id, v1::BOOT_PHASE_HEALTHY, ""));
  EXPECT_OK(boots_->OnReport(again.boot_id, v1::BOOT_PHASE_FALLEN_BACK, ""));
  boots_->Stop();
  std::vector<int> phases;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    const std::vector<BootStepRecord> steps = txn.boots().ListStepsAfter(0, 100).value();
    for (const BootStepRecord& step : steps) {
      if (step.boot_id == again.boot_id) phases.push_back(step.phase);
    }
    return absl::OkStatus();
  }));
  EXPECT_THAT(phases,
              ElementsAre(v1::BOOT_PHASE_SCRIPT, v1::BOOT_PHASE_KERNEL, v1::BOOT_PHASE_INITRD,
                          v1::BOOT_PHASE_ROOT, v1::BOOT_PHASE_WRITTEN, v1::BOOT_PHASE_HEALTHY));
  Open();
  // A newer build is written, too, and so is the same one by an order.
  clock_.Advance(absl::Minutes(1));
  Keep("stateful", "another root", "disk");
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kImage);
}

TEST_F(BootsTest, AnOrderForAnImageForDisksIsUsedUpWhenTheDiskHoldsIt) {
  Keep("stateful", "the root", "disk");
  ASSERT_OK(Order("stateful", false));
  const Answer answer = BootImage();
  EXPECT_EQ(Shown().next(), "stateful");
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_NOT_WRITTEN, "no disk"));
  EXPECT_EQ(Shown().last().steps().rbegin()->detail(), "no disk");
  Restart();
  EXPECT_EQ(Shown().next(), "stateful");
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(Shown().next(), "disk");
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_FALLEN_BACK, ""));
  EXPECT_EQ(Phases().back(), v1::BOOT_PHASE_FALLEN_BACK);
  // The image is not written to the same disk over and over by a report that comes twice.
  ASSERT_OK(Order("stateful", false));
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(Shown().next(), "stateful");
}

TEST_F(BootsTest, ARunOrdersABuildForADiskAlone) {
  const v1::Image image = Keep("stateful", "the root", "disk");
  Keep("worker", "another root");
  const auto order = [&](const std::string& node, const std::string& name) {
    return boots_->OrderForDisk("o1", node, name, {.name = "admin:alice"}, Nothing);
  };
  EXPECT_THAT(order("c009", "stateful"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(order("c002", "stateful"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("MAC")));
  EXPECT_THAT(order("c001", "worker"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                HasSubstr("of the kind ram, not disk")));
  EXPECT_THAT(order("c001", "disk"), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(order("c001", "other"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_EQ(Shown().next(), "disk");
  // An image that has not come up is written again, although the disk holds it.
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful}})");
  const Answer first = BootImage();
  EXPECT_OK(boots_->OnReport(first.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_OK(boots_->OnReport(first.boot_id, v1::BOOT_PHASE_FALLEN_BACK, ""));
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  ASSERT_OK(order("c001", absl::StrCat("stateful@", image.digest().substr(0, 12))));
  EXPECT_EQ(Shown().ordered_by(), "admin:alice");
  clock_.Advance(absl::Minutes(1));
  const Answer second = BootImage();
  EXPECT_TRUE(second.is_for_disk);
  EXPECT_OK(boots_->OnReport(second.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(Shown().ordered_by(), "");
}

TEST_F(BootsTest, AnOrderOfARunIsTakenBackAsLongAsItIsThatOne) {
  Keep("stateful", "the root", "disk");
  const Actor alice = {.name = "admin:alice"};
  ASSERT_OK(boots_->OrderForDisk("o1", "c001", "stateful", alice, Nothing));
  ASSERT_OK(boots_->TakeBack("o2", "c001"));
  ASSERT_OK(boots_->TakeBack("o1", "c002"));
  EXPECT_EQ(Shown().next(), "stateful");
  Restart();
  ASSERT_OK(boots_->TakeBack("o1", "c001"));
  EXPECT_EQ(Shown().next(), "disk");
  ASSERT_OK(boots_->TakeBack("o1", "c001"));
  Restart();
  EXPECT_EQ(Shown().next(), "disk");
  // A person has ordered the same since then.
  ASSERT_OK(boots_->OrderForDisk("o3", "c001", "stateful", alice, Nothing));
  ASSERT_OK(Order("stateful", true));
  ASSERT_OK(boots_->TakeBack("o3", "c001"));
  EXPECT_EQ(Shown().next(), "stateful");
  std::vector<std::string> audited;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    const std::vector<EventRecord> rows = txn.events().List(10, 0).value();
    for (const EventRecord& row : rows)
      audited.push_back(
          absl::StrCat(row.actor, " ", row.action, " ", row.subject, " ", row.detail));
    return absl::OkStatus();
  }));
  EXPECT_THAT(audited, ElementsAre("admin:alice boot.set c001 stateful, once",
                                   "admin:alice boot.set c001 stateful, once",
                                   "controller boot.clear c001 stateful was for a reboot that is "
                                   "over",
                                   "admin:alice boot.set c001 stateful, once"));
}

// Nobody would know the order of a permit that is in no store, and take it back.
TEST_F(BootsTest, AnOrderOfARunIsStoredWithWhatItIsForOrNotAtAll) {
  Keep("stateful", "the root", "disk");
  const Actor alice = {.name = "admin:alice"};
  EXPECT_THAT(boots_->OrderForDisk("o1", "c001", "stateful", alice,
                                   [](Transaction&) { return absl::UnavailableError("locked"); }),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(Shown().next(), "disk");
  Restart();
  EXPECT_EQ(Shown().next(), "disk");
  ASSERT_OK(boots_->OrderForDisk("o2", "c001", "stateful", alice, [](Transaction& txn) {
    EXPECT_OK(txn.runs().Put({.run_id = "r-1", .state = RunRecord::kRunning}));
    return txn.reboots().Put({.permit_id = "o2", .run_id = "r-1", .node = "c001"});
  }));
  EXPECT_EQ(Shown().next(), "stateful");
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_THAT(txn.reboots().ListOpen("r-1").value(), SizeIs(1));
    EXPECT_THAT(txn.events().List(10, 0).value(), SizeIs(1));
    return absl::OkStatus();
  }));
}

TEST_F(BootsTest, ABootThatWritesADiskGoesOnWithoutItsOrder) {
  Keep("stateful", "the root", "disk");
  ASSERT_OK(boots_->OrderForDisk("o1", "c001", "stateful", {.name = "admin:alice"}, Nothing));
  const Answer answer = BootImage();
  ASSERT_OK(boots_->TakeBack("o1", "c001"));
  ASSERT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(Shown().disk(), answer.what);
  clock_.Advance(absl::Minutes(1));
  Restart();
  EXPECT_EQ(Shown().disk(), answer.what);
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
}

TEST_F(BootsTest, ABootInMemorySaysNothingOfDisks) {
  Keep("worker", "the root");
  ASSERT_OK(Order("worker", false));
  const std::string boot_id = BootImage().boot_id;
  for (const v1::BootPhase phase : {v1::BOOT_PHASE_WRITTEN, v1::BOOT_PHASE_NOT_WRITTEN,
                                    v1::BOOT_PHASE_HEALTHY, v1::BOOT_PHASE_FALLEN_BACK})
    EXPECT_THAT(boots_->OnReport(boot_id, phase, ""),
                StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_EQ(Shown().disk(), "");
}

TEST_F(BootsTest, ANodeKeepsItsLastBootsAlone) {
  for (int i = 0; i < 20; ++i) {
    boots_->OnScriptSent(boots_->Begin(kMac, kPeer)->boot_id);
    clock_.Advance(BootState::kSameBoot);
  }
  boots_->Stop();
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_THAT(txn.boots().ListStepsAfter(0, 100).value(), SizeIs(Boots::kKept));
    return absl::OkStatus();
  }));
}

// The last that a controller does is to write what waits, however short ago that was refused.
TEST_F(BootsTest, WhatWaitsForTheStoreIsWrittenWhenTheControllerStops) {
  FailingStore& store = UseRefusingStore();
  boots_->OnScriptSent(boots_->Begin(kMac, kPeer)->boot_id);
  AwaitRefusals(1);
  store.refuse = false;
  Restart();
  EXPECT_THAT(Phases(), ElementsAre(v1::BOOT_PHASE_SCRIPT));
}

TEST_F(BootsTest, AClockThatIsSetBackDoesNotKeepStepsFromTheStore) {
  constexpr char kOtherMac[] = "0c:42:a1:00:12:02";
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01"}
  c002: {role: compute, mac: "0c:42:a1:00:12:02"})");
  FailingStore& store = UseRefusingStore();
  boots_->OnScriptSent(boots_->Begin(kMac, kPeer)->boot_id);
  AwaitRefusals(1);
  clock_.Advance(-absl::Hours(1));
  boots_->OnScriptSent(boots_->Begin(kOtherMac, kPeer)->boot_id);
  AwaitRefusals(2);
  store.refuse = false;
}

TEST_F(BootsTest, ANodeThatBootsSignedKernelImagesBootsNothingElse) {
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: worker, boot_signed: true, boot_join: tpm}}
  c002: {role: compute})");
  const v1::Image image = Keep("worker", "the root");
  Answer answer = boots_->Begin(kMac, kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kNoImage);
  EXPECT_THAT(answer.trouble, HasSubstr("it is not signed"));
  EXPECT_THAT(Order("worker", true), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("node c001, image worker@")));
  EXPECT_THAT(boots_->WordsOf(kMac, Sha256Hex("the root")),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));

  Sign(image);
  answer = boots_->Begin(kMac, kPeer).value();
  ASSERT_EQ(answer.kind, Answer::Kind::kImage);
  EXPECT_EQ(answer.command_line, boots_->CommandLineOf(image).value());
  boots_->OnScriptSent(answer.boot_id);
  boots_->OnArtifactSent(answer.boot_id, image.digest(), "signed.efi");
  EXPECT_THAT(Phases(), ElementsAre(v1::BOOT_PHASE_SCRIPT, v1::BOOT_PHASE_KERNEL));
  const BootWords words = boots_->WordsOf(kMac, Sha256Hex("the root")).value();
  EXPECT_EQ(words.node, "c001");
  EXPECT_EQ(words.boot_id, answer.boot_id);
  EXPECT_EQ(words.image, image.digest());
  EXPECT_FALSE(words.enrolls);
  EXPECT_THAT(boots_->WordsOf(kMac, Sha256Hex("another root")),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(boots_->WordsOf("aa:aa:aa:aa:aa:aa", Sha256Hex("the root")),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  ASSERT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_DENIED, "the reason"));
  EXPECT_EQ(Shown().last().steps(2).detail(), "the reason");
  // A machine in the middle of its boot does not notice a restart.
  Restart();
  EXPECT_EQ(boots_->WordsOf(kMac, Sha256Hex("the root"))->boot_id, answer.boot_id);
}

TEST_F(BootsTest, ADiskIsWrittenAsTheControllerSaysItselfAndOnce) {
  Describe(R"(
  c001: {role: compute, mac: ["0c:42:a1:00:12:01", "0c:42:a1:00:12:02"], vars: {boot: stateful, boot_signed: true, boot_disk: "serial:S1"}}
  c002: {role: compute, mac: "0c:42:a1:00:12:03", vars: {boot: stateful, boot_signed: true}})");
  const v1::Image image = Keep("stateful", "the root", "disk");
  const std::vector<std::string> macs = {"0c:42:a1:00:12:02", kMac, "aa:aa:aa:aa:aa:aa"};
  const std::string root = Sha256Hex("the root");
  const auto is_refused = [&](const std::string& why) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(why));
  };
  EXPECT_THAT(boots_->DiskOrderOf(macs, root), is_refused("is not to boot this image"));
  Sign(image);
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  ASSERT_EQ(answer.kind, Answer::Kind::kImage);
  boots_->OnArtifactSent(answer.boot_id, image.digest(), "signed.efi");
  EXPECT_TRUE(boots_->WordsOf(kMac, root)->is_for_disk);
  const DiskOrder order = boots_->DiskOrderOf(macs, root).value();
  EXPECT_EQ(order.image->digest(), image.digest());
  EXPECT_EQ(order.device, "serial:S1");
  EXPECT_EQ(order.node, "") << "the inventory has no boot_join";
  // The loader is no part of the boot.
  boots_->OnArtifactSent(answer.boot_id, image.digest(), "loader.efi");
  EXPECT_THAT(Phases(), ElementsAre(v1::BOOT_PHASE_KERNEL));

  EXPECT_THAT(boots_->DiskOrderOf(macs, Sha256Hex("another root")),
              is_refused("is not to boot this image"));
  EXPECT_THAT(boots_->DiskOrderOf({"aa:aa:aa:aa:aa:aa"}, root), is_refused("no node has any"));
  EXPECT_THAT(boots_->DiskOrderOf({kMac, "0c:42:a1:00:12:03"}, root),
              is_refused("belong to c001 and to c002"));
  ASSERT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_THAT(boots_->DiskOrderOf(macs, root), is_refused("holds stateful@"))
      << "whoever repeats an old boot has it written again";
}

TEST_F(BootsTest, ADiskThatBootsWhatWasNotSignedIsWrittenAnewForANodeThatBootsNothingElse) {
  const v1::Image image = Keep("stateful", "the root", "disk");
  const std::string node = R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful)";
  Describe(node + "}}");
  EXPECT_OK(boots_->OnReport(BootImage().boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  EXPECT_OK(Order("stateful", true));
  Sign(image);
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kImage);
  EXPECT_THAT(boots_->DiskOrderOf({kMac}, Sha256Hex("the root")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("signed")))
      << "whoever asks for a node that boots unsigned";
  EXPECT_OK(boots_->Clear(Select(*inventory_, "c001").value(), {.name = "admin:alice"}));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  Describe(node + ", boot_signed: true}}");
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  EXPECT_EQ(answer.kind, Answer::Kind::kImage);
  ASSERT_OK(boots_->DiskOrderOf({kMac}, Sha256Hex("the root")));
  EXPECT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  clock_.Advance(absl::Minutes(1));
  Restart();
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
}

TEST_F(BootsTest, ADiskThatHoldsTheBuildBootsWithoutTheControllersCopy) {
  const v1::Image image = Keep("stateful", "the root", "disk");
  const auto boot = [&](const std::string& what, const std::string& more = "") {
    Describe(absl::StrCat(
        "\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\", vars: {boot: ", what, more, "}}"));
    clock_.Advance(BootState::kSameBoot);
    return boots_->Begin(kMac, kPeer)->kind;
  };
  const std::string build = absl::StrCat("stateful@", image.digest().substr(0, 8));
  ASSERT_EQ(boot(build), Answer::Kind::kImage);
  ASSERT_OK(boots_->OnReport(BootImage().boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  ASSERT_OK(Order("stateful", true));
  ASSERT_OK(images_->Remove(image, clock_.Now()));
  EXPECT_EQ(boot(build), Answer::Kind::kNoImage) << "an order writes the disk";
  EXPECT_OK(boots_->Clear(Select(*inventory_, "c001").value(), {.name = "admin:alice"}));
  EXPECT_EQ(boot(build), Answer::Kind::kDisk);
  EXPECT_THAT(Phases(), IsEmpty());
  Restart();
  EXPECT_EQ(boot(build), Answer::Kind::kDisk);
  EXPECT_EQ(boot("stateful@" + image.digest()), Answer::Kind::kDisk);
  EXPECT_EQ(boot("stateful"), Answer::Kind::kDisk);
  // What was written is not signed.
  EXPECT_EQ(boot(build, ", boot_signed: true"), Answer::Kind::kNoImage);
  std::string other = image.digest();
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& another :
       {"stateful@" + other, std::string("state"), std::string("stateful2"), std::string("rescue")})
    EXPECT_EQ(boot(another), Answer::Kind::kNoImage) << another;
  // The name means a newer build.
  Keep("stateful", "another root", "disk");
  EXPECT_EQ(boot("stateful"), Answer::Kind::kImage);
  EXPECT_EQ(boot(build), Answer::Kind::kDisk);
}

TEST_F(BootsTest, ASignatureForAnotherAddressKeepsNoNodeFromItsDisk) {
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful, boot_signed: true}})");
  const v1::Image image = Keep("stateful", "the root", "disk");
  Sign(image);
  ASSERT_OK(boots_->OnReport(boots_->Begin(kMac, kPeer)->boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  listen_ = "10.0.0.2:7483";
  Restart();
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  ASSERT_OK(images_->Remove(image, clock_.Now()));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
  // Another build, which was not written, is refused as before.
  Keep("stateful", "another root", "disk");
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kNoImage);
}

TEST_F(BootsTest, AStrangerBootsASignedKernelImageToTellOfItself) {
  constexpr char kStranger[] = "aa:aa:aa:aa:aa:aa";
  Describe("\n  c002: {role: compute}\nvars: {boot_unknown: finder, boot_signed: enroll}");
  const v1::Image image = Keep("finder", "the root");
  EXPECT_THAT(boots_->Begin(kStranger, kPeer)->trouble, HasSubstr("it is not signed"));
  EXPECT_EQ(boots_->Begin(kStranger, kPeer)->image, nullptr);
  Sign(image);
  EXPECT_NE(boots_->Begin(kStranger, kPeer)->command_line, "");
  const BootWords words = boots_->WordsOf(kStranger, Sha256Hex("the root")).value();
  EXPECT_EQ(words.discovery_mac, kStranger);
  EXPECT_EQ(words.node, "");
  EXPECT_EQ(words.boot_id, "");
  EXPECT_TRUE(words.enrolls);
}

}  // namespace
}  // namespace muster::controller::boot
