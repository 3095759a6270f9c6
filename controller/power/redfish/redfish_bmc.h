// A BMC that speaks Redfish.
#pragma once

#include <string>
#include <vector>

#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/power/redfish/https_call.h"
#include "controller/power/redfish/redfish_answer.h"
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
                                  const std::string& body = "", const std::string& if_match = "");
  // Changes an object that had this etag; "": it has none.
  absl::Status Patch(const std::string& path, const std::string& etag, const std::string& body);
  // Finds the path of the system first.
  absl::StatusOr<RedfishSystem> System();
  // An object that may take the boot device for one boot.
  struct BootPlace {
    std::string path;
    RedfishBoot boot;
  };
  // Those of the machine, the likeliest first: what a BMC shows does not say what it takes. AMI's
  // BMCs take the device at the object of later settings, which shows it. iDRAC9 may show it there,
  // too, and takes it at the system. iDRAC10 takes it at the settings, which may not show it, and
  // shows one at the system that cannot be changed.
  absl::StatusOr<std::vector<BootPlace>> BootPlaces();
  absl::Status SetBoot(const BootPlace& place, BootDevice device);

  const BmcAccess access_;
  const SecretBuffer password_;
  const Cancelled cancelled_;
  const HttpsLimits limits_;
  std::string system_path_;  // "": not known yet
};

}  // namespace muster::controller::power
