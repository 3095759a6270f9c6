#include "controller/session/caller.h"

#include <string>

#include <grpcpp/support/status.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ToGrpc, KeepsCodeAndMessage) {
  const grpc::Status status = ToGrpc(absl::NotFoundError("no run r-1"));
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no run r-1");
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
}

TEST(ToGrpc, CutsAMessageThatFitsNoHeaderWithANote) {
  for (const char* piece : {"x", "\n", "%", "ä", "→"}) {
    std::string message;
    while (message.size() < 100'000) message += piece;
    EXPECT_FALSE(FitsStatus(message));
    const std::string cut = ToGrpc(absl::InternalError(message)).error_message();
    EXPECT_TRUE(FitsStatus(cut)) << piece;
    EXPECT_THAT(cut, AllOf(StartsWith(std::string(piece) + piece),
                           HasSubstr(" more bytes do not fit an answer)")));
    // Characters are not split.
    const size_t note = cut.find("… (cut here");
    ASSERT_NE(note, std::string::npos);
    EXPECT_EQ(note % std::string(piece).size(), 0u) << piece;
  }
  EXPECT_TRUE(FitsStatus(std::string(6000, 'x')));
  EXPECT_FALSE(FitsStatus(std::string(6000, '\n'))) << "each takes three bytes in the header";
}

}  // namespace
}  // namespace muster::controller
