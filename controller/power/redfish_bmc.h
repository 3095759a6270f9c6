// A BMC that speaks Redfish.
#pragma once

#include <string>

#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/power/https_call.h"
#include "controller/power/redfish_answer.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller::power {

class RedfishBmc final : public Bmc {
 public:
  RedfishBmc(BmcAccess access, SecretBuffer password, Cancelled cancelled, HttpsLimits limits = {});

  absl::StatusOr<PowerState> State() override;
  absl::Status Change(PowerChange change) override;
  absl::Status BootOnce(BootDevice device) override;
  absl::Status Identify(bool is_on) override;

 private:
  // The body of an answer whose status is a success.
  absl::StatusOr<std::string> Ask(const std::string& method, const std::string& path,
                                  const std::string& body = "");
  // Finds the path of the system first.
  absl::StatusOr<RedfishSystem> System();

  const BmcAccess access_;
  const SecretBuffer password_;
  const Cancelled cancelled_;
  const HttpsLimits limits_;
  std::string system_path_;  // "": not known yet
};

}  // namespace muster::controller::power
