#include "common/base/text/join_word.h"

#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

TEST(JoinWordTest, IsReadAsItIsWritten) {
  const JoinWord written = {"c001", "login1:7444", "[2001:db8::1]:7443", "sha256:ab"};
  EXPECT_EQ(written.ToString(), "c001,login1:7444,[2001:db8::1]:7443,sha256:ab");
  const auto read = ParseJoinWord(written.ToString());
  ASSERT_OK(read);
  EXPECT_EQ(read->ToString(), written.ToString());
  EXPECT_EQ(read->controller, "[2001:db8::1]:7443");
}

TEST(JoinWordTest, MayBeForAllNodes) {
  const auto read = ParseJoinWord(",login1:7444,login1:7443,sha256:ab");
  ASSERT_OK(read);
  EXPECT_EQ(read->node, "");
  EXPECT_EQ(read->ToString(), ",login1:7444,login1:7443,sha256:ab");
}

TEST(JoinWordTest, WithFourPartsAlone) {
  for (const char* wrong : {"", "c001", "c001,a:1,b:2", "c001,,b:2,sha256:ab", "c001,a:1,b:2,",
                            "c001,a:1,b:2,sha256:ab,more"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseJoinWord(wrong).status())) << wrong;
}

}  // namespace
}  // namespace muster
