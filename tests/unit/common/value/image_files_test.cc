#include "common/value/image_files.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

const std::string& Digest() {
  static const std::string digest = Sha256Hex("content");
  return digest;
}

ImageFile File(const std::string& path) {
  return {.type = 'f', .mode = 0644, .size = 7, .sha256 = Digest(), .path = path};
}

absl::StatusOr<std::vector<ImageFile>> ReadAll(absl::string_view text) {
  ImageFilesReader reader(text);
  std::vector<ImageFile> files;
  while (true) {
    ImageFile file;
    const absl::StatusOr<bool> is_there = reader.Next(file);
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) return files;
    files.push_back(file);
  }
}

TEST(ImageFiles, AreReadAsTheyWereWritten) {
  const std::vector<ImageFile> files = {
      {.type = 'd', .mode = 0755, .path = "/"},
      {.type = 'c', .mode = 0600, .gid = 5, .path = "/dev/console"},
      {.type = 'f',
       .mode = 04755,
       .uid = 0,
       .gid = 4294967294,
       .size = uint64_t{1} << 40,
       .sha256 = Digest(),
       .path = "/usr/bin/a file with blanks"},
      {.type = 'l', .mode = 0777, .size = 8, .target = "to a\\b\nc", .path = "/usr/bin/link"},
      {.type = 'f',
       .sha256 = Digest(),
       .path = "/usr/odd\\name\nwith\xff"
               "bytes"},
  };
  const absl::StatusOr<std::string> text =
      WriteImageFiles({files[4], files[2], files[0], files[3], files[1]});
  ASSERT_OK(text);
  EXPECT_EQ(*text, absl::StrCat("d 755 0 0 0 - /\n"
                                "c 600 0 5 0 - /dev/console\n"
                                "f 4755 0 4294967294 1099511627776 ",
                                Digest(),
                                " /usr/bin/a file with blanks\n"
                                "l 777 0 0 8 to\\sa\\\\b\\nc /usr/bin/link\n"
                                "f 0 0 0 0 ",
                                Digest(),
                                " /usr/odd\\\\name\\nwith\xff"
                                "bytes\n"));
  const absl::StatusOr<std::vector<ImageFile>> read = ReadAll(*text);
  ASSERT_OK(read);
  EXPECT_EQ(*read, files);
  EXPECT_EQ(ReadAll("")->size(), 0u);
}

TEST(ImageFiles, WhatCannotBeReadIsNotWritten) {
  ImageFile link = {.type = 'l', .mode = 0777, .path = "/l"};
  ImageFile folder = {.type = 'd', .sha256 = Digest(), .path = "/d"};
  ImageFile device = {.type = 'x', .path = "/x"};
  ImageFile mode = File("/m");
  mode.mode = 0100644;
  ImageFile nothing = File("/n");
  nothing.sha256 = "";
  for (const ImageFile& file : {File("usr"), File("/usr/"), File("/usr//x"), File("/a/../b"),
                                File("/a/."), File(""), link, folder, device, mode, nothing}) {
    EXPECT_THAT(WriteImageFiles({file}), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << file.path;
  }
  EXPECT_THAT(WriteImageFiles({File("/a"), File("/b"), File("/a")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(ImageFiles, AColumnThatIsEmptyIsNoDash) {
  EXPECT_THAT(ReadAll("d 755 0 0 0 - /\nc 600 0 5 0  /dev/console\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(ImageFiles, TheFirstWrongLineIsNamed) {
  const std::string good = absl::StrCat("f 644 0 0 7 ", Digest(), " /a\n");
  for (const std::string& bad :
       {absl::StrCat("f 644 0 0 7 ", Digest(), " /b"),     // no end
        absl::StrCat("f 644 0 0 7 ", Digest(), "\n"),      // no path
        std::string("\n"),                                 //
        absl::StrCat("ff 644 0 0 7 ", Digest(), " /b\n"),  //
        absl::StrCat("f 648 0 0 7 ", Digest(), " /b\n"),
        absl::StrCat("f 0644 0 0 7 ", Digest(), " /b\n"),
        absl::StrCat("f 10644 0 0 7 ", Digest(), " /b\n"),
        absl::StrCat("f 644 -1 0 7 ", Digest(), " /b\n"),
        absl::StrCat("f 644 0 4294967296 7 ", Digest(), " /b\n"),
        absl::StrCat("f 644 0 0 18446744073709551616 ", Digest(), " /b\n"),
        std::string("f 644 0 0 7 - /b\n"),                //
        absl::StrCat("d 755 0 0 0 ", Digest(), " /b\n"),  //
        std::string("l 777 0 0 1 a\\x /b\n"),             //
        std::string("l 777 0 0 1  /b\n"),                 //
        absl::StrCat("f 644 0 0 7 ", Digest(), " /b\\\n"),
        absl::StrCat("f 644 0 0 7 ", Digest(), " b\n"),
        absl::StrCat("f 644 0 0 7 ", Digest(), " /a\n"),     // once more
        absl::StrCat("f 644 0 0 7 ", Digest(), " /A\n")}) {  // before the last one
    EXPECT_THAT(ReadAll(good + bad), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << bad;
  }
}

}  // namespace
}  // namespace muster
