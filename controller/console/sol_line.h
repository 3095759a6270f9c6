// Serial over LAN of IPMI 2.0, by FreeIPMI's library.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/console/console_line.h"
#include "controller/inventory/bmc_access.h"
#include "controller/secret/secret_buffer.h"

struct ipmiconsole_ctx;

namespace muster::controller::console {

// A session that somebody else has is left to him. The library's own threads, four for the whole
// process, talk to BMCs.
class SolLine final : public ConsoleLine {
 public:
  // After so long without an answer the line is dead.
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  SolLine(BmcAccess access, SecretBuffer password, absl::Duration patience = kPatience);
  ~SolLine() override;
  // Once, before anything else. Blocks for the resolver at most. Errors as of Read().
  absl::Status Open() { return Begin(/*opens_as_operator=*/false); }

  absl::Status Read(size_t limit, std::string* bytes) override;
  bool is_established() const override { return is_established_; }

 private:
  absl::Status Begin(bool opens_as_operator);
  void End();
  // What the library's error means.
  absl::Status FaultOf(int error) const;

  const BmcAccess access_;
  const SecretBuffer password_;
  const absl::Duration patience_;
  ipmiconsole_ctx* context_ = nullptr;
  int fd_ = -1;  // ours, of context_
  bool is_established_ = false;
  bool is_second_try_ = false;
};

// One that is open.
absl::StatusOr<std::unique_ptr<ConsoleLine>> OpenConsole(const BmcAccess& access,
                                                         SecretBuffer password);

}  // namespace muster::controller::console
