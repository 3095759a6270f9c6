#include "cli/image/kernel_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Put(std::string& content, size_t at, uint64_t number, size_t bytes) {
  if (content.size() < at + bytes) content.resize(at + bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) content[at + i] = static_cast<char>(number >> (8 * i));
}

// A PE32+ program with two sections, of which the first lies behind the second.
std::string Stub() {
  std::string content = "MZ";
  constexpr size_t kHeader = 128, kOptional = kHeader + 24, kSections = kOptional + 240;
  Put(content, 60, kHeader, 4);
  Put(content, kHeader, 0x4550, 4);
  Put(content, kHeader + 6, 2, 2);
  Put(content, kHeader + 20, 240, 2);
  Put(content, kOptional, 0x20b, 2);
  Put(content, kOptional + 24, 0x140000000, 8);
  Put(content, kOptional + 32, 0x1000, 4);
  Put(content, kSections + 8, 0x2345, 4);
  Put(content, kSections + 12, 0x10000, 4);
  Put(content, kSections + 40 + 8, 0x100, 4);
  Put(content, kSections + 40 + 12, 0x5000, 4);
  return content;
}

TEST(KernelImageTest, SectionsLieBehindThoseOfTheStub) {
  const auto shape = ReadStub(Stub());
  ASSERT_OK(shape);
  EXPECT_EQ(shape->image_base, 0x140000000u);
  EXPECT_EQ(shape->alignment, 0x1000u);
  EXPECT_EQ(shape->end, 0x12345u);
  EXPECT_THAT(JoinKernelImage("stub", *shape,
                              {{".cmdline", "words", 5}, {".linux", "kernel", 0x1001}}, "out"),
              ElementsAre("objcopy", "--add-section", ".cmdline=words", "--change-section-vma",
                          ".cmdline=0x140013000", "--add-section", ".linux=kernel",
                          "--change-section-vma", ".linux=0x140014000", "stub", "out"));
}

TEST(KernelImageTest, WhatIsNoProgramIsRefused) {
  const std::string stub = Stub();
  for (const std::string& wrong :
       {std::string(), std::string("MZ"),
        std::string("\x7f"
                    "ELF"),
        stub.substr(0, 140), "ZM" + stub.substr(2), std::string("MZ") + std::string(100, '\xff')})
    EXPECT_THAT(ReadStub(wrong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("EFI")));
  std::string of_32_bits = stub;
  Put(of_32_bits, 152, 0x10b, 2);
  EXPECT_FALSE(ReadStub(of_32_bits).ok());
}

// The stub with a command line as its second section, and behind it a signature over this digest.
std::string Signed(const std::string& command_line, const std::string& digest) {
  std::string content = Stub();
  constexpr size_t kOptional = 128 + 24, kSecond = kOptional + 240 + 40;
  content.resize(512, '\0');
  content.replace(kSecond, 8, ".cmdline");
  Put(content, kSecond + 16, command_line.size(), 4);
  Put(content, kSecond + 20, 512, 4);
  content += command_line;
  const std::string signature =
      "\x30\x0d" +
      std::string("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20",
                  19) +
      digest;
  Put(content, kOptional + 144, content.size(), 4);
  Put(content, kOptional + 148, signature.size(), 4);
  return content + signature;
}

TEST(KernelImageTest, ASignedProgramHasTheDigestThatWasSignedAndTheRootThatItBoots) {
  const std::string root(64, 'a'), digest(32, '\xd1');
  std::string digits;
  for (int i = 0; i < 32; ++i) digits += "d1";
  const auto read =
      ReadSignedProgram(Signed("boot=muster muster.sha256=" + root + " panic=30", digest));
  ASSERT_OK(read);
  EXPECT_EQ(read->digest, digits);
  EXPECT_EQ(read->root, root);
  // The stub ends the section with zeros.
  EXPECT_EQ(ReadSignedProgram(Signed("muster.sha256=" + root + std::string(9, '\0'), digest))->root,
            root);
  for (const std::string& none : {std::string(), std::string("quiet"),
                                  "muster.sha256=" + root.substr(1), "xmuster.sha256=" + root})
    EXPECT_EQ(ReadSignedProgram(Signed(none, digest))->root, "") << none;
}

TEST(KernelImageTest, AProgramWithoutAWholeSignatureIsNotASignedOne) {
  const std::string whole = Signed("quiet", std::string(32, '\xd1'));
  EXPECT_OK(ReadSignedProgram(whole));
  std::string beyond = whole;
  Put(beyond, 128 + 24 + 144, 0xffffffff, 4);
  for (const std::string& wrong : {Stub(), Signed("quiet", std::string(31, '\xd1')),
                                   whole.substr(0, whole.size() - 1), beyond})
    EXPECT_THAT(ReadSignedProgram(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a signature")));
  EXPECT_EQ(ReadSignedProgram("MZ").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KernelImageTest, FilesAreAddedToAnInitramfs) {
  const std::string added =
      AddToInitrd("initrd", {{"etc/keys/PK.auth", "the key"}, {"etc/keys/db.auth", "12345678"}});
  EXPECT_EQ(added.substr(0, 8), std::string("initrd\0\0", 8));
  EXPECT_EQ(added.size() % 4, 0u);
  // Magic, inode, mode 40755, owner, group, links 2, time, size 0, device, name's size 4.
  EXPECT_EQ(added.substr(8, 110 + 4),
            std::string("070701000000010000"
                        "41ed0000000000000000000000020000000000000000"
                        "000000000000000000000000000000000000000400000000etc\0",
                        114));
  for (const char* name : {"etc/keys", "etc/keys/PK.auth", "etc/keys/db.auth", "TRAILER!!!"})
    EXPECT_THAT(added, HasSubstr(std::string(name) + '\0'));
  EXPECT_LT(added.find("the key"), added.find("12345678"));
  EXPECT_EQ(added.find("12345678") % 4, 0u);
}

}  // namespace
}  // namespace muster::cli
