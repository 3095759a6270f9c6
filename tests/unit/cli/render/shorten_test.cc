#include "cli/render/shorten.h"

#include <gtest/gtest.h>

#include "cli/render/output.h"

namespace muster::cli {
namespace {

TEST(Shorten, LeavesWhatFits) {
  EXPECT_EQ(Shorten("15 of 32", 8), "15 of 32");
  EXPECT_EQ(Shorten("größer", 6), "größer");
  EXPECT_EQ(Shorten("", 0), "");
}

TEST(Shorten, MarksWhatIsCut) {
  EXPECT_EQ(Shorten("unpacking slurmd", 12), "unpacking s…");
  EXPECT_EQ(Shorten("unpacking slurmd", 11), "unpacking…");  // no blank before the mark
  EXPECT_EQ(Shorten("größer", 4), "grö…");
  EXPECT_EQ(Shorten("größer", 0), "");
}

TEST(Shorten, NeverCutsANumber) {
  EXPECT_EQ(Shorten("downloading 15 of 32 packages", 20), "downloading 15 of…");
  EXPECT_EQ(Shorten("downloading 15 of 32 packages", 21), "downloading 15 of 32…");
  EXPECT_EQ(Shorten("ok=8 changed=22 failed=0", 16), "ok=8 changed=22…");
  EXPECT_EQ(Shorten("ok=8 changed=22 failed=0", 15), "ok=8…");
  EXPECT_EQ(Shorten("for 6.1.0-37-amd64", 12), "for…");
  // A single word is a name: a part of it is better than nothing.
  EXPECT_EQ(Shorten("6.1.0-37-amd64", 8), "6.1.0-3…");
}

TEST(Shorten, IsOneLineThatSteersNoTerminal) {
  EXPECT_EQ(Shorten("a\nb\tc\033[2Jd", 40), "a b cd");
}

TEST(ShortenFront, KeepsTheEndsOfNames) {
  EXPECT_EQ(ShortenFront("rack7-c0345", 20), "rack7-c0345");
  EXPECT_EQ(ShortenFront("gpu-rack07-node0123", 10), "…-node0123");
  EXPECT_EQ(DisplayWidth(ShortenFront("gpu-rack07-node0123", 1)), 1u);
}

}  // namespace
}  // namespace muster::cli
