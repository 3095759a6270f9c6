#include "controller/snapshot/signed_text.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::snapshot {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr char kSigned[] =
    "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nSuite: x\n-----BEGIN PGP SIGNATURE-----\n";

std::string Armored(const std::string& body) {
  return absl::StrCat("-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 1\n\n",
                      absl::Base64Escape(body), "\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n");
}

TEST(Keyring, LosesItsArmor) {
  const std::string one = "\x99one key, and \n more of it";
  EXPECT_EQ(BinaryKeyring(one).value(), one);
  EXPECT_EQ(BinaryKeyring(Armored(one)).value(), one);
  EXPECT_EQ(BinaryKeyring(absl::StrCat("two:\n", Armored(one), "\n", Armored("\x99two"))).value(),
            one + "\x99two");
}

TEST(Keyring, WhatIsNoneIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("a key"), Armored(""),
        std::string("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n"),
        std::string("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!!!\n-----END PGP PUBLIC KEY "
                    "BLOCK-----\n")}) {
    EXPECT_THAT(BinaryKeyring(text), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << text;
  }
}

TEST(Signatures, OneGoodOneCountsAndNoBadOneMayBeThere) {
  const std::string good = "[GNUPG:] GOODSIG 0123456789ABCDEF Archive Key";
  const std::string valid = "[GNUPG:] VALIDSIG 0123456789ABCDEF";
  EXPECT_OK(CheckSignatures({good, valid}));
  EXPECT_OK(CheckSignatures({"[GNUPG:] NO_PUBKEY FEDC", good, valid}));
  for (const std::vector<std::string>& lines :
       std::vector<std::vector<std::string>>{{},
                                             {valid},
                                             {"GOODSIG 0123456789ABCDEF"},
                                             {"[GNUPG:] NO_PUBKEY FEDC"},
                                             {good, "[GNUPG:] BADSIG FEDC Archive Key"},
                                             {"[GNUPG:] EXPKEYSIG FEDC Archive Key", valid},
                                             {"[GNUPG:] REVKEYSIG FEDC Archive Key", valid}}) {
    EXPECT_THAT(CheckSignatures(lines), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  }
}

class ReadSignedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("signed");
    std::filesystem::create_directories(folder_);
    // gpgv writes the text even if it then refuses the signature.
    processes_.On("gpgv", [this](const sys::ProcessSpec& spec) {
      std::ofstream(spec.argv[6]) << "the text\n";
      spec.on_status_line(status_);
      return sys::ProcessResult{.exit_code = exit_code_};
    });
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::string> Read(const std::string& file) {
    const std::string path = folder_ / "InRelease";
    std::ofstream(path) << file;
    return ReadSigned(processes_, path, Armored("\x99key"), folder_ / "scratch");
  }

  std::filesystem::path folder_;
  FakeProcessRunner processes_;
  std::string status_ = "[GNUPG:] GOODSIG 0123456789ABCDEF Archive Key";
  int exit_code_ = 0;
};

TEST_F(ReadSignedTest, ReturnsWhatWasSigned) {
  EXPECT_EQ(Read(kSigned).value(), "the text\n");
  exit_code_ = 2;  // another signature is by an unknown key
  EXPECT_EQ(Read(kSigned).value(), "the text\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch"));
}

TEST_F(ReadSignedTest, NothingElseIsRead) {
  status_ = "[GNUPG:] BADSIG 0123456789ABCDEF Archive Key";
  EXPECT_THAT(Read(kSigned), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  status_ = "[GNUPG:] GOODSIG 0123456789ABCDEF Archive Key";
  for (const std::string& file :
       {std::string("Suite: x\n"), absl::StrCat("\n", kSigned), absl::StrCat("Suite: y\n", kSigned),
        absl::StrCat(kSigned, kSigned)}) {
    EXPECT_THAT(Read(file), StatusIs(absl::StatusCode::kPermissionDenied, Said())) << file;
  }
  EXPECT_EQ(processes_.commands().size(), 1u);
}

TEST_F(ReadSignedTest, WithoutGpgvSaysWhatToInstall) {
  processes_.RemovePrograms();
  EXPECT_THAT(Read(kSigned), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::snapshot
