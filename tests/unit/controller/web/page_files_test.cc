// What the page's files must not contain, so that the content security policy never has to help.
#include "controller/web/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PageFiles, TextsNeverBecomeMarkup) {
  for (const PageFile& file : PageFiles()) {
    for (const char* const way :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
          "createContextualFragment", "DOMParser", "srcdoc", "setHTML", "javascript:"}) {
      EXPECT_THAT(std::string(file.text), Not(HasSubstr(way))) << file.path;
    }
  }
}

TEST(PageFiles, NothingComesFromElsewhere) {
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    EXPECT_THAT(text, Not(HasSubstr("https://"))) << file.path;
    EXPECT_THAT(text, Not(HasSubstr("src=\"http"))) << file.path;
    EXPECT_THAT(text, Not(HasSubstr(" style=\""))) << file.path;
  }
}

TEST(PageFiles, EveryImportIsServed) {
  std::string paths;
  for (const PageFile& file : PageFiles()) absl::StrAppend(&paths, file.path, "\n");
  for (const PageFile& file : PageFiles()) {
    absl::string_view text = file.text;
    for (size_t at; (at = text.find("from './")) != absl::string_view::npos;) {
      text.remove_prefix(at + 7);
      const absl::string_view name = text.substr(0, text.find('\''));
      EXPECT_THAT(paths, HasSubstr(absl::StrCat(name, "\n"))) << file.path;
    }
  }
  EXPECT_TRUE(absl::StartsWith(PageFiles()[0].text, "<!doctype html>"));
  EXPECT_EQ(PageFiles()[0].path, "/");
}

TEST(PageFiles, AreSmall) {
  size_t bytes = 0;
  for (const PageFile& file : PageFiles()) bytes += file.text.size();
  EXPECT_LT(bytes, 110'000u);
}

}  // namespace
}  // namespace muster::controller
