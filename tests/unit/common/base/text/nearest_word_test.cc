#include "common/base/text/nearest_word.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::vector<std::string> kKeys = {"gpu_count", "role", "groups", "address"};

TEST(NearestWord, FindsAMisspeltKey) {
  EXPECT_EQ(NearestWord("gpu_cuont", kKeys), "gpu_count");
  EXPECT_EQ(NearestWord("rol", kKeys), "role");
  EXPECT_EQ(NearestWord("adress", kKeys), "address");
}

TEST(NearestWord, OffersNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestWord("partition", kKeys), "");
  EXPECT_EQ(DidYouMean("partition", kKeys), "");
  EXPECT_EQ(DidYouMean("rolle", kKeys), " (did you mean 'role'?)");
}

}  // namespace
}  // namespace muster
