// Boots of nodes with disks: what is written to them, by whose order, and what boots from them.
#include "tests/unit/controller/boot/boots_fixture.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(BootsTest, TheDiskOfAnotherMachineIsNotTheNodes) {
  Keep("stateful", "the root", "disk");
  const auto boot = [&](const std::string& macs, const std::string& mac) {
    Describe(absl::StrCat("\n  c001: {role: compute, mac: [", macs, "], vars: {boot: stateful}}"));
    clock_.Advance(BootState::kSameBoot);
    return boots_->Begin(mac, kPeer).value();
  };
  const std::string old_card = absl::StrCat("\"", kMac, "\"");
  const std::string new_card = "\"0c:42:a1:00:12:09\"";
  const Answer first = boot(old_card, kMac);
  ASSERT_OK(boots_->OnReport(first.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) Restart();
    EXPECT_EQ(boot(old_card, kMac).kind, Answer::Kind::kDisk);
    // The same machine boots by another one of its cards.
    EXPECT_EQ(boot(new_card + ", " + old_card, "0c:42:a1:00:12:09").kind, Answer::Kind::kDisk);
    EXPECT_EQ(boot(new_card, "0c:42:a1:00:12:09").kind, Answer::Kind::kImage);
    EXPECT_EQ(Shown().disk(), "");
  }
  const Answer second = boot(new_card, "0c:42:a1:00:12:09");
  ASSERT_OK(boots_->OnReport(second.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  EXPECT_EQ(boot(new_card, "0c:42:a1:00:12:09").kind, Answer::Kind::kDisk);
}

// An earlier controller did not store which machine it was.
TEST_F(BootsTest, ADiskWithoutAMachineIsTheNodes) {
  const v1::Image image = Keep("stateful", "the root", "disk");
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful}})");
  boots_->Stop();
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return txn.boots().PutDisk({.node = "c001",
                                .boot_id = "b1",
                                .what = "stateful",
                                .image = image.digest(),
                                .written_at = clock_.Now()});
  }));
  Open();
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
}

TEST_F(BootsTest, TheDiskOfANodeThatWasRemovedIsWrittenAnew) {
  Keep("stateful", "the root", "disk");
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful}})");
  ASSERT_OK(boots_->OnReport(BootImage().boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  boots_->ForgetDisks({"c001", "c002"});
  EXPECT_EQ(Shown().disk(), "");
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kImage);
  clock_.Advance(absl::Minutes(1));
  Restart();
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kImage);
}

TEST_F(BootsTest, ASignedDiskIsWrittenOnceThoughTheControllerRestarts) {
  Describe(R"(
  c001: {role: compute, mac: "0c:42:a1:00:12:01", vars: {boot: stateful, boot_signed: true}})");
  Sign(Keep("stateful", "the root", "disk"));
  const Answer answer = boots_->Begin(kMac, kPeer).value();
  ASSERT_EQ(answer.kind, Answer::Kind::kImage);
  Restart();
  ASSERT_OK(boots_->OnReport(answer.boot_id, v1::BOOT_PHASE_WRITTEN, ""));
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(boots_->Begin(kMac, kPeer)->kind, Answer::Kind::kDisk);
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

}  // namespace
}  // namespace muster::controller::boot
