#include "controller/console/sol_line.h"

#include <fcntl.h>
#include <ipmiconsole.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "controller/power/ipmi_fault.h"

namespace muster::controller::console {
namespace {

constexpr unsigned kThreads = 4;
constexpr uint16_t kMaxPort = 32'767;  // of FreeIPMI 1.6.10
constexpr size_t kMaxFaultText = 200;

struct FaultRow {
  int error;
  power::IpmiFault fault;
};
constexpr FaultRow kFaults[] = {
    {IPMICONSOLE_ERR_USERNAME_INVALID, power::kUnknownUser},
    {IPMICONSOLE_ERR_PASSWORD_INVALID, power::kWrongPassword},
    {IPMICONSOLE_ERR_PRIVILEGE_LEVEL_INSUFFICIENT, power::kNoPrivilege},
    {IPMICONSOLE_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED, power::kNoPrivilege},
    {IPMICONSOLE_ERR_CIPHER_SUITE_ID_UNAVAILABLE, power::kNoCipherSuite},
    {IPMICONSOLE_ERR_IPMI_2_0_UNAVAILABLE, power::kNoIpmi2},
    {IPMICONSOLE_ERR_HOSTNAME_INVALID, power::kUnknownAddress},
    {IPMICONSOLE_ERR_SOL_UNAVAILABLE,
     {absl::StatusCode::kFailedPrecondition,
      "it has no serial over LAN, or not for bmc_user: turn it on in the BMC"}},
    {IPMICONSOLE_ERR_SOL_REQUIRES_NO_ENCRYPTION,
     {absl::StatusCode::kFailedPrecondition,
      "it does not encrypt serial over LAN: allow encryption of it in the BMC"}},
    {IPMICONSOLE_ERR_SOL_INUSE,
     {absl::StatusCode::kUnavailable,
      "somebody else reads the console; BMCs have one reader each"}},
    {IPMICONSOLE_ERR_SOL_STOLEN,
     {absl::StatusCode::kFailedPrecondition, "somebody else has taken the console over"}},
    {IPMICONSOLE_ERR_CONNECTION_TIMEOUT, power::kNoAnswer},
    {IPMICONSOLE_ERR_SESSION_TIMEOUT, power::kLost},
    {IPMICONSOLE_ERR_EXCESS_RETRANSMISSIONS_SENT, power::kLost},
    {IPMICONSOLE_ERR_BMC_BUSY, {absl::StatusCode::kUnavailable, "it is busy"}},
};

// Starts the library's threads once; they end with the process.
bool HasEngine() {
  static const bool started = ipmiconsole_engine_init(kThreads, /*debug_flags=*/0) == 0;
  return started;
}

bool IsOfLevel(int error) {
  return error == IPMICONSOLE_ERR_PASSWORD_INVALID ||
         error == IPMICONSOLE_ERR_PRIVILEGE_LEVEL_INSUFFICIENT ||
         error == IPMICONSOLE_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED;
}

}  // namespace

SolLine::SolLine(BmcAccess access, SecretBuffer password, absl::Duration patience)
    : access_(std::move(access)), password_(std::move(password)), patience_(patience) {}

SolLine::~SolLine() { End(); }

absl::Status SolLine::Begin(bool opens_as_operator) {
  if (access_.port > kMaxPort)
    return absl::FailedPreconditionError(absl::StrCat(
        "its console cannot be read at port ", access_.port, ", only at ports up to ", kMaxPort));
  RETURN_IF_ERROR(power::CheckIpmiAccount(access_, password_));
  if (!HasEngine()) return absl::ResourceExhaustedError("the threads for consoles do not start");
  const std::string host = power::IpmiHost(access_);
  std::string user = access_.user;
  std::string password(password_.Reveal());
  const absl::Cleanup wipe = [&] { OPENSSL_cleanse(password.data(), password.size()); };
  ipmiconsole_ipmi_config ipmi = {};
  ipmi.username = user.data();
  ipmi.password = password.data();
  ipmi.privilege_level = IPMICONSOLE_PRIVILEGE_OPERATOR;
  ipmi.cipher_suite_id = access_.cipher_suite;
  // The first two leave out questions whose answers change nothing here, and which some BMCs answer
  // wrongly or not at all.
  ipmi.workaround_flags = IPMICONSOLE_WORKAROUND_SKIP_CHANNEL_PAYLOAD_SUPPORT |
                          IPMICONSOLE_WORKAROUND_IGNORE_SOL_PAYLOAD_SIZE |
                          (opens_as_operator ? IPMICONSOLE_WORKAROUND_OPEN_SESSION_PRIVILEGE : 0);
  ipmiconsole_protocol_config protocol;
  protocol.session_timeout_len = static_cast<int>(absl::ToInt64Milliseconds(patience_));
  protocol.retransmission_timeout_len = -1;  // the library's own
  protocol.retransmission_backoff_count = -1;
  protocol.keepalive_timeout_len = protocol.session_timeout_len / 3;
  protocol.retransmission_keepalive_timeout_len = protocol.session_timeout_len / 6;
  protocol.acceptable_packet_errors_count = -1;
  protocol.maximum_retransmission_count = -1;
  ipmiconsole_engine_config engine = {};
  engine.engine_flags = IPMICONSOLE_ENGINE_OUTPUT_ON_SOL_ESTABLISHED;
  engine.behavior_flags = IPMICONSOLE_BEHAVIOR_ERROR_ON_SOL_INUSE;
  context_ = ipmiconsole_ctx_create(host.c_str(), &ipmi, &protocol, &engine);
  if (context_ == nullptr)
    return absl::UnavailableError(
        absl::StrCat("no session can be made: ", std::generic_category().message(errno)));
  if (ipmiconsole_engine_submit(context_, nullptr, nullptr) < 0)
    return FaultOf(ipmiconsole_ctx_errnum(context_));
  fd_ = ipmiconsole_ctx_fd(context_);
  if (fd_ < 0) return FaultOf(ipmiconsole_ctx_errnum(context_));
  if (::fcntl(fd_, F_SETFL, O_NONBLOCK) != 0 || ::fcntl(fd_, F_SETFD, FD_CLOEXEC) != 0)
    return absl::InternalError("the console's file cannot be set up");
  return absl::OkStatus();
}

void SolLine::End() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (context_ != nullptr) ipmiconsole_ctx_destroy(std::exchange(context_, nullptr));
}

absl::Status SolLine::FaultOf(int error) const {
  const bool is_lost = error == IPMICONSOLE_ERR_SESSION_TIMEOUT ||
                       error == IPMICONSOLE_ERR_EXCESS_RETRANSMISSIONS_SENT;
  // Tried again and again, a wrong password would lock the account.
  if (is_lost && !is_established_)
    return {power::kNoAnswerToPassword.code, power::kNoAnswerToPassword.text};
  const auto row = std::find_if(std::begin(kFaults), std::end(kFaults),
                                [&](const FaultRow& each) { return each.error == error; });
  if (row != std::end(kFaults)) return {row->fault.code, row->fault.text};
  return absl::UnavailableError(
      absl::StrCat("its console failed: ",
                   PlainText(ipmiconsole_ctx_strerror(error), Lines::kOne, kMaxFaultText)));
}

absl::Status SolLine::Read(size_t limit, std::string* bytes) {
  std::array<char, 4096> buffer;
  while (limit > 0) {
    const ssize_t got = ::read(fd_, buffer.data(), std::min(limit, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return absl::OkStatus();
    if (got <= 0) {
      const int error = ipmiconsole_ctx_errnum(context_);
      // Some BMCs prove the password with the level of privilege by which the session was opened,
      // instead of the one that was asked for.
      if (!is_established_ && IsOfLevel(error) && !std::exchange(is_second_try_, true)) {
        End();
        return Begin(/*opens_as_operator=*/true);
      }
      return FaultOf(error);
    }
    is_established_ = true;  // the library's own first byte is a NUL
    bytes->append(buffer.data(), static_cast<size_t>(got));
    limit -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ConsoleLine>> OpenConsole(const BmcAccess& access,
                                                         SecretBuffer password) {
  auto line = std::make_unique<SolLine>(access, std::move(password));
  RETURN_IF_ERROR(line->Open());
  return line;
}

}  // namespace muster::controller::console
