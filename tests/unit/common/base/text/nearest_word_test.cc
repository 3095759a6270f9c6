#include "common/base/text/nearest_word.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::vector<std::string> kKeys = {"gpu_count", "role", "groups", "address"};

TEST(NearestWord, FindsAMisspelledKey) {
  EXPECT_EQ(NearestWord("gpu_cuont", kKeys), "gpu_count");
  EXPECT_EQ(NearestWord("rol", kKeys), "role");
  EXPECT_EQ(NearestWord("adress", kKeys), "address");
}

TEST(NearestWord, OffersNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestWord("partition", kKeys), "");
  EXPECT_EQ(DidYouMean("partition", kKeys), "");
  EXPECT_EQ(DidYouMean("rolle", kKeys), " (did you mean 'role'?)");
}

TEST(NearestWord, OffersNothingWithMoreEditsThanAllowed) {
  EXPECT_EQ(NearestWord("gpu_cuont", kKeys, 1), "gpu_count");
  EXPECT_EQ(NearestWord("gpu_cuonts", kKeys, 1), "");
  EXPECT_EQ(NearestWord("gpu_cuonts", kKeys, 2), "gpu_count");
  EXPECT_EQ(NearestWord("gpu_count", kKeys, 0), "gpu_count");
}

}  // namespace
}  // namespace muster
