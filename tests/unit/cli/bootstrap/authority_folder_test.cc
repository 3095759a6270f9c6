// The files of an authority during a change, interrupted at every write: musterd can start at any
// moment, and repeating the call comes to the same end.
#include "cli/bootstrap/authority_folder.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "controller/enrollment/certificate_authority.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::FakeFileSystem;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using Stage = AuthorityFolder::Stage;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);
constexpr uid_t kService = 990;

class AuthorityFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    old_ = pki::MakeCa("Muster CA of lab", absl::Hours(24 * 3650), kNow).value();
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("login1").value();
    files_.AddFile("/pki/ca.crt", old_.certificate_pem, 0644, kService, kService);
    files_.AddFile("/pki/ca.key", old_.key, 0600, kService, kService);
    files_.AddFile("/pki/controller.key", key.key_pem, 0600, kService, kService);
    files_.AddFile(
        "/pki/controller.crt",
        pki::SignCsr(old_, key.csr_pem, {.common_name = "login1", .dns_sans = {"login1"}},
                     {kNow, kNow + absl::Hours(24)}, pki::Usage::kServer)
            .value(),
        0644, kService, kService);
  }

  std::string Content(const std::string& name) { return files_.Read("/pki/" + name).value(); }
  std::string OldPin() { return pki::Sha256Pin(old_.certificate_pem).value(); }
  // The conditions that musterd has for the folder before it starts.
  void ExpectMusterdStarts() {
    EXPECT_OK(controller::CertificateAuthority::Create(Content("ca.crt"), Content("ca.key")));
    EXPECT_OK(pki::VerifySignedBy(Content("controller.crt"), Content("ca.crt"), kNow));
    EXPECT_EQ(files_.At("/pki/ca.key").stat.mode, 0600u);
    EXPECT_EQ(files_.At("/pki/ca.key").stat.uid, kService);
  }
  // The view of those who have only the old root.
  bool IsBelievedBefore() {
    return pki::VerifySignedBy(Content("controller.crt"), old_.certificate_pem, kNow).ok();
  }
  // Interrupts `step` at each of its changes and calls it again; returns the number of changes.
  int CutOffEverywhere(const std::function<absl::Status()>& step) {
    const FakeFileSystem start = files_;
    for (int changes = 0; changes < 20; ++changes) {
      files_ = start;
      files_.FailAfter(changes, absl::UnavailableError("cut off"));
      const absl::Status status = step();
      files_.FailAfter(-1, absl::OkStatus());
      ExpectMusterdStarts();
      EXPECT_OK(folder_.Read());
      if (status.ok()) return changes;
      EXPECT_OK(step());
      ExpectMusterdStarts();
    }
    ADD_FAILURE() << "it has no end";
    return 0;
  }

  FakeFileSystem files_;
  pki::Authority old_;
  AuthorityFolder folder_{"/pki", files_};
};

TEST_F(AuthorityFolderTest, ChangesInTwoStepsBetweenWhichBothRootsAreTrusted) {
  const AuthorityFolder::State before = folder_.Read().value();
  EXPECT_EQ(before.stage, Stage::kSettled);
  EXPECT_THAT(before.trusted, ElementsAre(OldPin()));

  ASSERT_OK(folder_.Begin("", kNow));
  EXPECT_EQ(files_.At("/pki/ca.key.before").stat.mode, 0600u);
  ASSERT_OK(folder_.Confirm());
  EXPECT_FALSE(files_.Has("/pki/ca.key.before"));
  const AuthorityFolder::State between = folder_.Read().value();
  EXPECT_EQ(between.stage, Stage::kChanging);
  EXPECT_NE(between.signing, OldPin());
  EXPECT_THAT(between.trusted, ElementsAre(between.signing, OldPin()));
  EXPECT_TRUE(IsBelievedBefore());
  EXPECT_FALSE(files_.Has("/pki/ca.key.next"));
  EXPECT_EQ(pki::ParseCertificate(Content("ca.crt"))->common_name, "Muster CA of lab, 2030-03-17");
  ASSERT_OK(folder_.Begin("", kNow));  // again: nothing more to do
  EXPECT_EQ(folder_.Read()->signing, between.signing);

  ASSERT_OK(folder_.Finish(kNow));
  const AuthorityFolder::State after = folder_.Read().value();
  EXPECT_EQ(after.stage, Stage::kEnding);
  EXPECT_THAT(after.trusted, ElementsAre(between.signing));
  ASSERT_OK(folder_.Begin("", kNow));  // not another one while this one has not ended
  EXPECT_EQ(folder_.Read()->signing, between.signing);
  ASSERT_OK(folder_.End());
  EXPECT_EQ(folder_.Read()->stage, Stage::kSettled);
  EXPECT_FALSE(IsBelievedBefore());
  EXPECT_THAT(pki::ParseCertificate(Content("controller.crt"))->dns_sans, ElementsAre("login1"));
  ExpectMusterdStarts();

  // The next change gets a new name.
  ASSERT_OK(folder_.Begin("", kNow + absl::Hours(24)));
  EXPECT_EQ(pki::ParseCertificate(Content("ca.crt"))->common_name, "Muster CA of lab, 2030-03-18");
}

TEST_F(AuthorityFolderTest, CutOffAtAnyWriteTheSameCallsGoOn) {
  EXPECT_EQ(CutOffEverywhere([&] { return folder_.Begin("", kNow); }), 7);
  EXPECT_TRUE(IsBelievedBefore());
  EXPECT_EQ(folder_.Read()->stage, Stage::kChanging);
  // Called again after its last write it is no longer in this stage, and says so.
  const auto finish = [&] {
    return folder_.Read()->stage == Stage::kEnding ? absl::OkStatus() : folder_.Finish(kNow);
  };
  EXPECT_EQ(CutOffEverywhere(finish), 5);
  EXPECT_EQ(folder_.Read()->stage, Stage::kEnding);
  EXPECT_NE(folder_.Read()->signing, OldPin());
}

TEST_F(AuthorityFolderTest, GoesBackAsLongAsMusterdHasNotServedWithTheNewKey) {
  const std::string key = Content("ca.key"), roots = Content("ca.crt");
  ASSERT_OK(folder_.Begin("", kNow));
  ASSERT_OK(folder_.Undo());
  ExpectMusterdStarts();
  EXPECT_EQ(Content("ca.key"), key);
  EXPECT_EQ(Content("ca.crt"), roots);
  EXPECT_EQ(folder_.Read()->stage, Stage::kSettled);
  EXPECT_FALSE(files_.Has("/pki/ca.key.before"));

  ASSERT_OK(folder_.Begin("", kNow));
  ASSERT_OK(folder_.Confirm());
  EXPECT_THAT(folder_.Undo(), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_EQ(folder_.Read()->stage, Stage::kChanging);
}

TEST_F(AuthorityFolderTest, ANewKeyThatIsLostOrUnusableNeverEndsWithTheOldOne) {
  // A backup of the middle of Begin() has the roots, and not the next key.
  const pki::Authority lost = pki::MakeCa("lost", absl::Hours(24), kNow).value();
  files_.AddFile("/pki/ca.crt", lost.certificate_pem + old_.certificate_pem);
  EXPECT_EQ(folder_.Read()->stage, Stage::kBegun);
  EXPECT_THAT(folder_.Finish(kNow), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  files_.AddFile("/pki/ca.key.next", "damaged");
  EXPECT_THAT(folder_.Begin("", kNow), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(folder_.Read()->stage, Stage::kBegun);
  ASSERT_OK(files_.Remove("/pki/ca.key.next", false));
  ASSERT_OK(folder_.Begin("", kNow));
  const AuthorityFolder::State state = folder_.Read().value();
  EXPECT_EQ(state.stage, Stage::kChanging);
  EXPECT_NE(state.signing, pki::Sha256Pin(lost.certificate_pem).value());
  EXPECT_THAT(state.trusted, ElementsAre(state.signing, OldPin()));
  ExpectMusterdStarts();
}

TEST_F(AuthorityFolderTest, WhatWasBegunForATokenGoesOnForIt) {
  files_.AddFile("/pki/ca.change", absl::StrCat(OldPin(), "\npkcs11:token=nowhere;object=ca\n"));
  EXPECT_EQ(folder_.Read()->stage, Stage::kBegun);
  EXPECT_EQ(folder_.Read()->token_key, "pkcs11:token=nowhere;object=ca");
  EXPECT_FALSE(folder_.Begin("", kNow).ok());  // and no key in a file instead
  EXPECT_EQ(folder_.Read()->stage, Stage::kBegun);
  EXPECT_FALSE(files_.Has("/pki/ca.key.next"));
}

TEST_F(AuthorityFolderTest, AdministratorOfInitComesAlong) {
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("admin").value();
  const auto sign = [&](absl::Time end) {
    return pki::SignCsr(old_, key.csr_pem,
                        {.common_name = "admin",
                         .organization = "muster:admin",
                         .uri_sans = {"muster://user/admin"}},
                        {kNow - absl::Hours(1), end}, pki::Usage::kClient)
        .value();
  };
  files_.AddFile("/admin/ca.crt", old_.certificate_pem);
  files_.AddFile("/admin/client.crt", sign(kNow + absl::Hours(100)));
  const auto expect_good = [&](size_t roots) {
    ASSERT_OK(folder_.SignAdministrator("/admin", kNow));
    const std::string now = files_.Read("/admin/client.crt").value();
    EXPECT_EQ(pki::Sha256Pin(pki::IssuerOf(now, Content("ca.crt")).value()).value(),
              folder_.Read()->signing);
    EXPECT_EQ(files_.Read("/admin/ca.crt").value(), Content("ca.crt"));
    EXPECT_EQ(pki::SplitCertificates(Content("ca.crt"))->size(), roots);
    const pki::Certificate own = pki::ParseCertificate(now).value();
    EXPECT_EQ(own.not_after, kNow + absl::Hours(100));
    EXPECT_THAT(own.uri_sans, ElementsAre("muster://user/admin"));
    EXPECT_EQ(own.organization, "muster:admin");
  };
  ASSERT_OK(folder_.Begin("", kNow));
  expect_good(2);
  ASSERT_OK(folder_.Finish(kNow));
  expect_good(1);
  // An expired certificate is not revived, and a stranger's is named.
  files_.AddFile("/admin/client.crt", sign(kNow - absl::Minutes(1)));
  EXPECT_OK(folder_.SignAdministrator("/admin", kNow));
  files_.AddFile("/admin/client.crt", sign(kNow + absl::Hours(1)));
  EXPECT_THAT(folder_.SignAdministrator("/admin", kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(folder_.SignAdministrator("/nowhere", kNow));
}

TEST_F(AuthorityFolderTest, RootRenewsTheAdministratorsCertificateAlsoAfterItsEnd) {
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("admin").value();
  files_.AddFile("/admin/ca.crt", "of earlier times");
  files_.AddFile("/admin/client.crt",
                 pki::SignCsr(old_, key.csr_pem,
                              {.common_name = "admin",
                               .organization = "muster:admin",
                               .uri_sans = {"muster://user/admin"}},
                              {kNow - absl::Hours(2), kNow - absl::Hours(1)}, pki::Usage::kClient)
                     .value());
  const auto expect_valid = [&] {
    ASSERT_OK(folder_.RenewAdministrator("/admin", kNow));
    const std::string now = files_.Read("/admin/client.crt").value();
    EXPECT_OK(pki::VerifySignedBy(now, files_.Read("/admin/ca.crt").value(),
                                  kNow + kAdministratorValidity - absl::Hours(1)));
    EXPECT_THAT(pki::ParseCertificate(now)->uri_sans, ElementsAre("muster://user/admin"));
  };
  expect_valid();
  // While the authority changes, by the one that signs.
  ASSERT_OK(folder_.Begin("", kNow));
  expect_valid();
  EXPECT_THAT(folder_.RenewAdministrator("/nowhere", kNow).status(),
              StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("/nowhere/client.crt")));
}

TEST_F(AuthorityFolderTest, RootRenewsTheControllersCertificateAlsoAfterItsEnd) {
  const pki::Certificate before = pki::ParseCertificate(Content("controller.crt")).value();
  const absl::Time ended = before.not_after;
  EXPECT_OK(folder_.CheckController(ended - absl::Seconds(1)));
  EXPECT_THAT(folder_.CheckController(ended),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));

  ASSERT_OK(folder_.RenewController({}, ended));
  EXPECT_OK(folder_.CheckController(ended + kServerValidity - absl::Hours(1)));
  EXPECT_OK(pki::VerifySignedBy(Content("controller.crt"), old_.certificate_pem, ended));
  const pki::Certificate after = pki::ParseCertificate(Content("controller.crt")).value();
  EXPECT_EQ(after.public_key_sha256, before.public_key_sha256);
  EXPECT_EQ(after.common_name, "login1");
  EXPECT_THAT(after.dns_sans, ElementsAre("login1"));
  EXPECT_EQ(files_.At("/pki/controller.crt").stat.uid, kService);
}

TEST_F(AuthorityFolderTest,
       WhileTheAuthorityChangesTheControllersCertificateIsRenewedOnlyAfterItsEnd) {
  const std::string before = Content("controller.crt");
  ASSERT_OK(folder_.Begin("", kNow));
  EXPECT_THAT(folder_.RenewController({}, kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(Content("controller.crt"), before);
  const absl::Time ended = pki::ParseCertificate(before)->not_after;
  ASSERT_OK(folder_.RenewController({}, ended));
  EXPECT_OK(pki::VerifySignedBy(Content("controller.crt"), Content("ca.crt"), ended));
  ASSERT_OK(folder_.Finish(ended));
  EXPECT_OK(pki::VerifySignedBy(Content("controller.crt"), Content("ca.crt"), ended));
}

TEST_F(AuthorityFolderTest, ALongNameOfAClusterLeavesRoomForTheDate) {
  const pki::Authority old =
      pki::MakeCa("Muster CA of " + std::string(51, 'a'), kCaValidity, kNow, "").value();
  files_.AddFile("/pki/ca.crt", old.certificate_pem);
  files_.AddFile("/pki/ca.key", old.key);
  ASSERT_OK(folder_.Begin("", kNow));
  const std::string next = pki::SplitCertificates(Content("ca.crt"))->front();
  EXPECT_EQ(pki::ParseCertificate(next)->common_name.size(), 64u);
}

TEST_F(AuthorityFolderTest, SaysWhatDoesNotFit) {
  const pki::Authority other = pki::MakeCa("other", absl::Hours(1), kNow).value();
  files_.AddFile("/pki/ca.key", other.key, 0600);
  EXPECT_THAT(folder_.Read(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  files_.AddFile("/pki/ca.crt",
                 absl::StrCat(old_.certificate_pem, other.certificate_pem, old_.certificate_pem));
  EXPECT_THAT(folder_.Read(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(files_.Remove("/pki/ca.crt", false));
  EXPECT_THAT(folder_.Read(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::cli
