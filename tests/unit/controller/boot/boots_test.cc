#include "tests/unit/controller/boot/boots_fixture.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

// The second port of a node, which the inventory does not have.
TEST_F(BootsTest, AStrangerWithAPortOfANodeIsListedAsOne) {
  constexpr char kSecond[] = "aa:aa:aa:aa:aa:02";
  Describe("\n  c003: {role: compute, mac: \"aa:aa:aa:aa:aa:01\"}\nvars: {boot_unknown: finder}");
  v1::Facts facts;
  for (const char* mac : {kSecond, "AA:aa:aa:aa:aa:01"}) {
    v1::NicFacts& nic = *facts.add_nics();
    nic.set_mac(mac);
    nic.set_kind("ethernet");
    nic.set_pci_address("0000:3b:00.0");
  }
  EXPECT_EQ(boots_->OnDiscovery(kSecond, kPeer, facts, absl::Minutes(1)).value(), false);
  ASSERT_THAT(boots_->ListUnknown().machines(), SizeIs(1));
  EXPECT_EQ(boots_->ListUnknown().machines(0).node(), "c003");
  // By its word alone: the node is another machine as far as anything else goes.
  EXPECT_EQ(boots_->Begin(kSecond, kPeer)->kind, Answer::Kind::kUnknown);
  facts.mutable_nics(1)->clear_pci_address();
  EXPECT_EQ(boots_->OnDiscovery(kSecond, kPeer, facts, absl::Minutes(1)).value(), false);
  EXPECT_EQ(boots_->ListUnknown().machines(0).node(), "");
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
