// A BMC that speaks IPMI 2.0 over the network, by FreeIPMI's library.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/secret/secret_buffer.h"

struct ipmi_ctx;

namespace muster {
class Clock;
}

namespace muster::controller::power {

struct IpmiLimits {
  absl::Duration session = absl::Seconds(12);        // without an answer
  absl::Duration retransmission = absl::Seconds(1);  // of a packet
  // Without a call: a BMC ends a session after a minute.
  absl::Duration idle = absl::Seconds(45);
};

// The session begins with the first call and ends with the object; after a pause, in which the BMC
// may have ended it, the next call begins another one. The library cannot be stopped
// in a call, which is why its limits are short.
class IpmiBmc final : public Bmc {
 public:
  // `clock` must outlive the object.
  IpmiBmc(BmcAccess access, SecretBuffer password, Clock& clock, IpmiLimits limits = {});
  ~IpmiBmc() override;

  absl::StatusOr<PowerState> State() override;
  absl::Status Change(PowerChange change) override;
  absl::Status BootOnce(BootDevice device) override;
  absl::Status Identify(bool is_on) override;

 private:
  struct Close {
    void operator()(ipmi_ctx* context) const;
  };

  absl::Status Open();
  absl::Status OpenWith(unsigned workarounds);
  // What the library says of its last call. Ends a session that was lost: the next call begins
  // another one.
  absl::Status Fault();

  const BmcAccess access_;
  const SecretBuffer password_;
  Clock& clock_;
  const IpmiLimits limits_;
  absl::Time called_at_;                      // last
  std::unique_ptr<ipmi_ctx, Close> context_;  // nullptr: no session
};

}  // namespace muster::controller::power
