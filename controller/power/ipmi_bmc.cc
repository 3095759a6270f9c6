#include "controller/power/ipmi_bmc.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <freeipmi/freeipmi.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "controller/power/ipmi_fault.h"

namespace muster::controller::power {
namespace {

constexpr size_t kMaxFaultText = 200;
// For as long as a light can be asked to blink where it cannot be told to stay on.
constexpr uint8_t kIdentifySeconds = 255;

struct FaultRow {
  int error;
  IpmiFault fault;
};
constexpr FaultRow kFaults[] = {
    {IPMI_ERR_USERNAME_INVALID, kUnknownUser},
    {IPMI_ERR_PASSWORD_INVALID, kWrongPassword},
    {IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT, kNoAnswerToPassword},
    {IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT, kNoPrivilege},
    {IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED, kNoPrivilege},
    {IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE, kNoCipherSuite},
    {IPMI_ERR_IPMI_2_0_UNAVAILABLE, kNoIpmi2},
    {IPMI_ERR_CONNECTION_TIMEOUT, kNoAnswer},
    {IPMI_ERR_SESSION_TIMEOUT, kLost},
    {IPMI_ERR_MESSAGE_TIMEOUT, kLost},
    {IPMI_ERR_BMC_BUSY, {absl::StatusCode::kUnavailable, "it is busy; try again"}},
    {IPMI_ERR_HOSTNAME_INVALID, kUnknownAddress},
    {IPMI_ERR_COMMAND_INVALID_OR_UNSUPPORTED,
     {absl::StatusCode::kFailedPrecondition, "it does not know this command; use another verb"}},
    {IPMI_ERR_BAD_COMPLETION_CODE, {absl::StatusCode::kFailedPrecondition, "it refuses the order"}},
};

// An answer of the library's, for the duration of a call.
class Answer {
 public:
  explicit Answer(fiid_template_t shape) : object_(fiid_obj_create(shape)) {}
  ~Answer() {
    if (object_ != nullptr) fiid_obj_destroy(object_);
  }
  Answer(const Answer&) = delete;
  fiid_obj_t get() const { return object_; }
  // False: it has no such field.
  bool Read(const char* field, uint64_t* value) const {
    return fiid_obj_get(object_, field, value) == 1;
  }

 private:
  fiid_obj_t object_;
};

uint8_t ControlOf(PowerChange change) {
  switch (change) {
    case PowerChange::kOn:
      return IPMI_CHASSIS_CONTROL_POWER_UP;
    case PowerChange::kOff:
      return IPMI_CHASSIS_CONTROL_POWER_DOWN;
    case PowerChange::kSoftOff:
      return IPMI_CHASSIS_CONTROL_INITIATE_SOFT_SHUTDOWN;
    case PowerChange::kReset:
      break;
  }
  return IPMI_CHASSIS_CONTROL_HARD_RESET;
}

uint8_t FlagOf(BootDevice device) {
  switch (device) {
    case BootDevice::kPxe:
      return IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_BOOT_DEVICE_FORCE_PXE;
    case BootDevice::kDisk:
      return IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_BOOT_DEVICE_FORCE_HARD_DRIVE;
    case BootDevice::kBios:
      return IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_BOOT_DEVICE_FORCE_BIOS_SETUP;
    case BootDevice::kDefault:
      break;
  }
  return IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_BOOT_DEVICE_NO_OVERRIDE;
}

unsigned InMilliseconds(absl::Duration duration) {
  return static_cast<unsigned>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

void IpmiBmc::Close::operator()(ipmi_ctx* context) const {
  ipmi_ctx_close(context);
  ipmi_ctx_destroy(context);
}

IpmiBmc::IpmiBmc(BmcAccess access, SecretBuffer password, Clock& clock, IpmiLimits limits)
    : access_(std::move(access)), password_(std::move(password)), clock_(clock), limits_(limits) {}

IpmiBmc::~IpmiBmc() = default;

absl::Status IpmiBmc::Fault() {
  const int error = ipmi_ctx_errnum(context_.get());
  const std::string words = PlainText(ipmi_ctx_strerror(error), Lines::kOne, kMaxFaultText);
  const auto row = std::find_if(std::begin(kFaults), std::end(kFaults),
                                [&](const FaultRow& each) { return each.error == error; });
  const absl::Status fault = row != std::end(kFaults)
                                 ? absl::Status(row->fault.code, row->fault.text)
                                 : absl::UnavailableError(absl::StrCat("IPMI failed: ", words));
  if (absl::IsUnavailable(fault)) context_.reset();
  return fault;
}

absl::Status IpmiBmc::OpenWith(unsigned workarounds) {
  context_.reset(ipmi_ctx_create());
  if (context_ == nullptr) return absl::ResourceExhaustedError("no memory for an IPMI session");
  const std::string host = IpmiHost(access_);
  const std::string password(password_.Reveal());
  const int opened = ipmi_ctx_open_outofband_2_0(
      context_.get(), host.c_str(), access_.user.c_str(), password.c_str(), /*k_g=*/nullptr,
      /*k_g_len=*/0, IPMI_PRIVILEGE_LEVEL_OPERATOR, access_.cipher_suite,
      InMilliseconds(limits_.session), InMilliseconds(limits_.retransmission), workarounds,
      IPMI_FLAGS_DEFAULT);
  if (opened == 0) return absl::OkStatus();
  const absl::Status fault = Fault();
  context_.reset();
  return fault;
}

absl::Status IpmiBmc::Open() {
  const absl::Time now = clock_.Now();
  const bool is_set_back = now < called_at_;
  if (is_set_back || now - called_at_ > limits_.idle) context_.reset();
  called_at_ = now;
  if (context_ != nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckIpmiAccount(access_, password_));
  const absl::Status opened = OpenWith(IPMI_WORKAROUND_FLAGS_DEFAULT);
  if (!absl::IsFailedPrecondition(opened)) return opened;
  // Some BMCs prove the password with the level of privilege by which the session was opened,
  // instead of the one that was asked for.
  const absl::Status again = OpenWith(IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE);
  return again.ok() || absl::IsUnauthenticated(again) ? again : opened;
}

absl::StatusOr<PowerState> IpmiBmc::State() {
  RETURN_IF_ERROR(Open());
  const Answer answer(tmpl_cmd_get_chassis_status_rs);
  if (ipmi_cmd_get_chassis_status(context_.get(), answer.get()) < 0) return Fault();
  uint64_t is_on = 0;
  if (!answer.Read("current_power_state.power_is_on", &is_on)) return PowerState::kUnknown;
  return is_on == IPMI_SYSTEM_POWER_IS_ON ? PowerState::kOn : PowerState::kOff;
}

absl::Status IpmiBmc::Change(PowerChange change) {
  RETURN_IF_ERROR(Open());
  const Answer answer(tmpl_cmd_chassis_control_rs);
  if (ipmi_cmd_chassis_control(context_.get(), ControlOf(change), answer.get()) >= 0)
    return absl::OkStatus();
  return Fault();
}

absl::Status IpmiBmc::BootOnce(BootDevice device) {
  RETURN_IF_ERROR(Open());
  const Answer answer(tmpl_cmd_set_system_boot_options_rs);
  const int set = ipmi_cmd_set_system_boot_options_boot_flags(
      context_.get(), IPMI_SYSTEM_BOOT_OPTIONS_PARAMETER_VALID_UNLOCKED,
      IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_BOOT_TYPE_EFI,
      IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_VALID_FOR_NEXT_BOOT,
      IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_VALID, IPMI_SYSTEM_BOOT_OPTION_NO,
      IPMI_SYSTEM_BOOT_OPTION_NO, FlagOf(device), IPMI_SYSTEM_BOOT_OPTION_NO,
      IPMI_SYSTEM_BOOT_OPTION_NO, IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_CONSOLE_REDIRECTION_DEFAULT,
      IPMI_SYSTEM_BOOT_OPTION_NO, IPMI_SYSTEM_BOOT_OPTION_NO, IPMI_SYSTEM_BOOT_OPTION_NO,
      IPMI_SYSTEM_BOOT_OPTION_BOOT_FLAG_FIRMWARE_BIOS_VERBOSITY_DEFAULT, IPMI_SYSTEM_BOOT_OPTION_NO,
      /*bios_mux_control_override=*/0, IPMI_SYSTEM_BOOT_OPTION_NO, /*device_instance_selector=*/0,
      answer.get());
  return set >= 0 ? absl::OkStatus() : Fault();
}

absl::Status IpmiBmc::Identify(bool is_on) {
  RETURN_IF_ERROR(Open());
  const Answer answer(tmpl_cmd_chassis_identify_rs);
  const uint8_t seconds = is_on ? kIdentifySeconds : 0;
  if (is_on) {
    const uint8_t force = IPMI_CHASSIS_FORCE_IDENTIFY_ON;
    if (ipmi_cmd_chassis_identify(context_.get(), &seconds, &force, answer.get()) >= 0)
      return absl::OkStatus();
    const absl::Status fault = Fault();
    if (!absl::IsFailedPrecondition(fault)) return fault;
  }
  // An older BMC knows only an interval.
  const Answer simple(tmpl_cmd_chassis_identify_rs);
  if (ipmi_cmd_chassis_identify(context_.get(), &seconds, nullptr, simple.get()) >= 0)
    return absl::OkStatus();
  return Fault();
}

}  // namespace muster::controller::power
