#include "controller/grpc_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

TEST(GrpcLog, SaysWhatARefusedCertificateMeans) {
  EXPECT_THAT(ReadableGrpcLine("Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:"
                               "SSL routines::certificate verify failed."),
              HasSubstr("certificate was not issued by this cluster's authority"));
}

TEST(GrpcLog, LeavesWhatItDoesNotKnow) {
  EXPECT_EQ(ReadableGrpcLine("something else"), "grpc: something else");
}

}  // namespace
}  // namespace muster::controller
