// Serial over LAN in real packets, by ipmi_sim.
#include "controller/console/sol_line.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/ipmi_sim.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::console {
namespace {

using ::muster::testing::IpmiSim;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

// The serial port of a machine that writes the same line again and again.
class SerialPort {
 public:
  SerialPort() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 4) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      std::abort();
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~SerialPort() {
    done_.Notify();
    thread_.join();
    ::close(listener_);
  }
  uint16_t port() const { return port_; }

 private:
  void Serve() {
    int machine = -1;
    while (!done_.WaitForNotificationWithTimeout(absl::Milliseconds(50))) {
      pollfd waiting{listener_, POLLIN, 0};
      if (machine < 0 && ::poll(&waiting, 1, 0) > 0)
        machine = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      constexpr absl::string_view kLine = "Run /init as init process\r\n";
      if (machine >= 0) (void)::send(machine, kLine.data(), kLine.size(), MSG_NOSIGNAL);
    }
    if (machine >= 0) ::close(machine);
  }

  const int listener_;
  uint16_t port_ = 0;
  absl::Notification done_;
  std::thread thread_;
};

class SolLineTest : public ::testing::Test {
 protected:
  std::unique_ptr<SolLine> Line(const std::string& password = "labsecret") const {
    BmcAccess access;
    access.protocol = BmcProtocol::kIpmi;
    access.address = "127.0.0.1";
    access.port = sim_.port();
    access.user = "admin";
    access.cipher_suite = 3;
    return std::make_unique<SolLine>(access, SecretBuffer(password), absl::Seconds(2));
  }
  // Reads until the text has come or the line is dead.
  static absl::Status ReadUntil(SolLine& line, absl::string_view wanted) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
      if (const absl::Status read = line.Read(4096, &bytes); !read.ok()) return read;
      if (absl::StrContains(bytes, wanted)) return absl::OkStatus();
      absl::SleepFor(absl::Milliseconds(50));
    }
    return absl::DeadlineExceededError("it did not come: " + bytes);
  }
  // The simulator takes a moment to listen, and to reach the serial port.
  std::unique_ptr<SolLine> AwaitText() const {
    absl::Status status;
    for (int i = 0; i < 30; ++i) {
      std::unique_ptr<SolLine> line = Line();
      status = line->Open();
      if (status.ok()) status = ReadUntil(*line, "Run /init as init process\r\n");
      if (status.ok()) return line;
      absl::SleepFor(absl::Milliseconds(200));
    }
    ADD_FAILURE() << "(./dev deps installs openipmi) " << status << "\n" << sim_.output();
    return nullptr;
  }

  SerialPort serial_;
  IpmiSim sim_{serial_.port()};
};

TEST_F(SolLineTest, HandsOnWhatTheMachineWrites) {
  const std::unique_ptr<SolLine> line = AwaitText();
  ASSERT_NE(line, nullptr);
  EXPECT_TRUE(line->is_established());
  // Somebody else's is left to him.
  const std::unique_ptr<SolLine> second = Line();
  ASSERT_OK(second->Open());
  EXPECT_THAT(ReadUntil(*second, "init"), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_OK(ReadUntil(*line, "init process"));
  // A BMC that is gone is noticed.
  sim_.Stop();
  EXPECT_THAT(ReadUntil(*line, "nothing like it"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopped answering")));
}

TEST_F(SolLineTest, RefusalsSayWhatToDo) {
  ASSERT_NE(AwaitText(), nullptr);
  const std::unique_ptr<SolLine> wrong = Line("not-it");
  ASSERT_OK(wrong->Open());
  EXPECT_THAT(ReadUntil(*wrong, "init"), StatusIs(absl::StatusCode::kUnauthenticated, Said()));
  EXPECT_THAT(Line(std::string(21, 'x'))->Open(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::console
