#include "common/value/secret_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

TEST(SecretValueTest, KeepsItsBytes) {
  const std::string bytes("a\0\xff b", 5);
  const Value secret = MakeSecret(bytes);
  EXPECT_TRUE(IsSecret(secret));
  EXPECT_EQ(SecretBytes(secret), bytes);
}

TEST(SecretValueTest, OtherValuesAreNoSecrets) {
  EXPECT_FALSE(IsSecret(Value("text")));
  EXPECT_FALSE(IsSecret(Value(nullptr)));
  EXPECT_FALSE(IsSecret(Value::binary({1, 2})));
  EXPECT_FALSE(IsSecret(Value::binary({1, 2}, 7)));
}

TEST(SecretValueTest, RedactsAtAnyDepthAndKeepsTheRest) {
  Value value = {{"user", "root"}, {"keys", {1, MakeSecret("k1"), {{"inner", MakeSecret("k2")}}}}};
  EXPECT_TRUE(ContainsSecret(value));
  const Value redacted = Redact(value);
  EXPECT_EQ(redacted.dump(), R"({"user":"root","keys":[1,"[secret]",{"inner":"[secret]"}]})");
  EXPECT_FALSE(ContainsSecret(redacted));
  EXPECT_TRUE(ContainsSecret(value)) << "the original is left alone";
}

TEST(SecretValueTest, RedactsASecretItself) { EXPECT_EQ(Redact(MakeSecret("x")), "[secret]"); }

}  // namespace
}  // namespace muster
