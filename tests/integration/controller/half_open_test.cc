// Connections that stop half way: the controller ends them by itself, and real agents get in
// meanwhile.
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "controller/constants.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "tests/fixtures/enrolled_controller.h"
#include "tests/fixtures/http2_client.h"

namespace muster::controller {
namespace {

using ::muster::testing::Http2Client;

constexpr char kFetchBlob[] = "/muster.v1.AgentSessionService/FetchBlob";
constexpr char kEnroll[] = "/muster.v1.EnrollmentService/Enroll";
// Longer than the controller's own limits, for a busy machine.
constexpr absl::Duration kPatience = absl::Seconds(30);

class HalfOpenTest : public EnrolledControllerFixture {
 protected:
  static void SetUpTestSuite() { ASSERT_OK(HardenTls()); }

  // How far a connection goes.
  struct Way {
    const char* name;
    bool is_enrollment;  // chooses the port
    bool does_tls;
    std::string first_bytes;
    bool does_http2;
    std::string call;          // begun but never finished; empty: none
    std::string drop_by_drop;  // after that, a byte now and then
  };

  std::unique_ptr<Http2Client> Open(const Way& way) {
    auto client = std::make_unique<Http2Client>(way.is_enrollment ? controller_->enrollment_port()
                                                                  : controller_->port());
    if (way.does_tls) {
      const ClientIdentity& identity = nodes_[0].identity;
      EXPECT_TRUE(client->Handshake(way.is_enrollment ? "" : identity.certificate_pem,
                                    way.is_enrollment ? "" : identity.key_pem))
          << way.name;
    }
    client->Send(way.first_bytes);
    if (way.does_http2) client->SendPreface();
    if (!way.call.empty()) client->BeginCall(1, way.call);
    return client;
  }
};

TEST_F(HalfOpenTest, TwoHundredAreClosedAndHinderNobody) {
  // The beginning of a TLS record of 512 bytes that is a ClientHello.
  const std::string record("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  const std::vector<Way> ways = {
      {"silent", false, false, "", false, "", ""},
      {"silent, enrollment", true, false, "", false, "", ""},
      {"half a ClientHello", false, false, record, false, "", ""},
      {"a ClientHello drop by drop", false, false, record, false, "", std::string(500, 'x')},
      {"no TLS at all", false, false, "GET / HTTP/1.1\r\n\r\n", false, "", ""},
      {"TLS, then silent", false, true, "", false, "", ""},
      {"TLS, then silent, enrollment", true, true, "", false, "", ""},
      {"HTTP/2, then pings alone", false, true, "", true, "", ""},
      {"HTTP/2, then pings alone, enrollment", true, true, "", true, "", ""},
      {"half a call, enrollment", true, true, "", true, kEnroll, ""},
  };
  struct Connection {
    const Way* way;
    std::unique_ptr<Http2Client> client;
    size_t dropped = 0;
  };
  std::vector<Connection> open;
  for (int i = 0; i < 20; ++i) {
    for (const Way& way : ways) open.push_back({&way, Open(way)});
  }
  ASSERT_EQ(open.size(), 200u);

  const absl::Time begin = absl::Now();
  const std::unique_ptr<Agent> agent = Greet(nodes_[1]);
  ASSERT_NE(agent, nullptr);
  const auto enrollment = v1::EnrollmentService::NewStub(Connect(controller_->enrollment_port()));
  grpc::ClientContext context;
  v1::EnrollResponse response;
  EXPECT_EQ(enrollment->Enroll(&context, {}, &response).error_code(), grpc::INVALID_ARGUMENT);

  const absl::Time give_up = begin + kHandshakeTimeout + kPatience;
  while (!open.empty() && absl::Now() < give_up) {
    for (size_t i = open.size(); i-- > 0;) {
      Connection& each = open[i];
      if (each.dropped < each.way->drop_by_drop.size())
        each.client->Send(each.way->drop_by_drop.substr(each.dropped++, 1));
      if (!each.client->Pump()) {
        std::swap(each, open.back());
        open.pop_back();
      }
    }
    EXPECT_TRUE(agent->Beat());
    absl::SleepFor(absl::Milliseconds(100));
  }
  for (const Connection& each : open) ADD_FAILURE() << "still open: " << each.way->name;
  EXPECT_TRUE(agent->Beat());
}

TEST_F(HalfOpenTest, CallsOfOneConnectionAreCounted) {
  const std::unique_ptr<Agent> agent = Greet(nodes_[1]);
  ASSERT_NE(agent, nullptr);
  const Way way = {"calls without a message", false, true, "", true, "", ""};
  const std::unique_ptr<Http2Client> greedy = Open(way);
  const absl::Time give_up = absl::Now() + kPatience;
  // The limit is in the server's settings, which come first.
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(greedy->Pump());
    absl::SleepFor(absl::Milliseconds(10));
  }
  for (int i = 0; i < kMaxStreamsPerConnection + 1; ++i)
    greedy->BeginCall(static_cast<uint32_t>(2 * i + 1), kFetchBlob);
  while (greedy->Pump() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(greedy->Pump());
  EXPECT_TRUE(agent->Beat());
}

// Sixteen MiB of zeros are sixteen kB on the wire; they must not be unpacked.
TEST_F(HalfOpenTest, CompressedMessagesAreRefused) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::EnrollRequest request;
  request.set_csr_pem(std::string(kMaxEnrollmentMessageBytes * 100, '\0'));
  v1::EnrollResponse response;
  const auto stub = v1::EnrollmentService::NewStub(Connect(controller_->enrollment_port()));
  EXPECT_EQ(stub->Enroll(&context, request, &response).error_code(), grpc::UNIMPLEMENTED);
}

}  // namespace
}  // namespace muster::controller
