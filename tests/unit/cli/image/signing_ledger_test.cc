#include "cli/image/signing/signing_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Hex(char digit) { return std::string(64, digit); }

// Two builds, the first of which was signed twice, and a loader that was signed twice.
const SigningLedger& Ledger() {
  static const auto& ledger = *new SigningLedger{{Hex('0'), Hex('a'), "worker@" + Hex('1')},
                                                 {Hex('1'), "", "snponly.efi"},
                                                 {Hex('2'), Hex('b'), "worker@" + Hex('2')},
                                                 {Hex('3'), Hex('a'), "worker@" + Hex('1')},
                                                 {Hex('4'), "", "snponly.efi"},
                                                 {Hex('5'), "", "loader.efi"}};
  return ledger;
}

std::string DigestsOf(const SigningLedger& ledger) {
  std::string digests;
  for (const SignedEntry& entry : ledger) digests += entry.digest[0];
  return digests;
}

TEST(SigningLedgerTest, IsReadAsItWasWritten) {
  const std::string text = WriteSigningLedger(Ledger());
  EXPECT_THAT(text, HasSubstr(Hex('0') + " " + Hex('a') + " worker@" + Hex('1') + "\n" + Hex('1') +
                              " - snponly.efi\n"));
  const auto read = ReadSigningLedger(text);
  ASSERT_OK(read);
  EXPECT_EQ(WriteSigningLedger(*read), text);
  EXPECT_THAT(ReadSigningLedger("").value(), IsEmpty());
  for (const std::string& wrong : {Hex('0') + " -", Hex('0') + " - two words", Hex('0') + " a b",
                                   Hex('A') + " - snponly.efi", std::string("- - -")})
    EXPECT_THAT(ReadSigningLedger(text + wrong + "\n"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 7")));
}

TEST(SigningLedgerTest, WhatIsSignedAgainIsTheLastAndThereOnce) {
  SigningLedger ledger = Ledger();
  AddSigned(ledger, ledger[1]);
  EXPECT_EQ(DigestsOf(ledger), "023451");
  EXPECT_TRUE(IsLoaderInUse(ledger, Ledger()[1]));
  EXPECT_FALSE(IsLoaderInUse(ledger, Ledger()[4]));
}

TEST(SigningLedgerTest, ABuildIsAllThatWasSignedOfIt) {
  for (const std::string& what : {"worker@" + Hex('1'), "worker@" + Hex('1').substr(0, 8)})
    EXPECT_EQ(DigestsOf(FindMeant(Ledger(), what).value()), "03") << what;
  for (const std::string& nothing :
       {std::string("worker"), std::string("worker@1111111"), "worker@" + Hex('3'),
        "work@" + Hex('1'), std::string("snponly"), std::string()})
    EXPECT_THAT(FindMeant(Ledger(), nothing).value(), IsEmpty()) << nothing;
  EXPECT_EQ(ShownLabel("worker@" + Hex('1')), "worker@111111111111");
  EXPECT_EQ(ShownLabel("snponly.efi"), "snponly.efi");

  SigningLedger alike = Ledger();
  alike.push_back({Hex('6'), Hex('c'), "worker@11111111" + std::string(56, '0')});
  EXPECT_THAT(FindMeant(alike, "worker@11111111"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more of the digest")));
}

// Whatever else is revoked, machines boot.
TEST(SigningLedgerTest, TheLoaderInUseIsNotMeant) {
  EXPECT_EQ(DigestsOf(FindMeant(Ledger(), "snponly.efi").value()), "1");
  EXPECT_THAT(FindMeant(Ledger(), "loader.efi"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("loader.efi")));
}

// Whoever may choose what a machine boots would choose the other.
TEST(SigningLedgerTest, ARootIsBootedByAllThatNameItAndAreNotRevoked) {
  EXPECT_EQ(DigestsOf(OthersOfRoot(Ledger(), {Ledger()[0]}, Hex('a'))), "3");
  EXPECT_EQ(DigestsOf(OthersOfRoot(Ledger(), {}, Hex('a'))), "03");
  EXPECT_THAT(OthersOfRoot(Ledger(), {Ledger()[0], Ledger()[3]}, Hex('a')), IsEmpty());
  EXPECT_THAT(OthersOfRoot(Ledger(), {Ledger()[1]}, ""), IsEmpty());
}

// A node that runs a revoked root would not boot it again.
TEST(SigningLedgerTest, NodesAreToldOfRootsThatNothingElseBoots) {
  const SigningLedger part = RevokedForNodes(Ledger(), {Ledger()[0], Ledger()[1], Ledger()[2]});
  EXPECT_THAT(part, ElementsAre(AllOf(::testing::Field(&SignedEntry::digest, Hex('0')),
                                      ::testing::Field(&SignedEntry::root, "")),
                                ::testing::Field(&SignedEntry::root, ""),
                                ::testing::Field(&SignedEntry::root, Hex('b'))));
  for (const SignedEntry& entry : RevokedForNodes(Ledger(), {Ledger()[0], Ledger()[3]}))
    EXPECT_EQ(entry.root, Hex('a'));
}

}  // namespace
}  // namespace muster::cli
