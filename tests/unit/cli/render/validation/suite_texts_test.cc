#include "cli/render/validation/suite_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SuiteTexts, TheNewestOfASuiteHasTheTextThatCounts) {
  v1::ListValidationsResponse list;
  const auto add = [&](const char* id, const char* suite, const char* digest) {
    v1::Validation& validation = *list.add_validations();
    validation.set_validation_id(id);
    validation.set_suite(suite);
    validation.set_suite_digest(digest);
  };
  EXPECT_THAT(OfEarlierTexts(list.validations()), IsEmpty());
  add("v-5", "quick", "b");
  add("v-4", "acceptance", "x");
  add("v-3", "quick", "a");
  add("v-2", "acceptance", "x");
  add("v-1", "quick", "b");  // the original text again
  EXPECT_THAT(OfEarlierTexts(list.validations()), ElementsAre("v-3"));
}

}  // namespace
}  // namespace muster::cli
