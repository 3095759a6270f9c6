// Ownership of sd-bus objects, and systemd's manager as the peer of a connection. Besides this file
// only sd_bus_unit.cc and sd_bus_unit_manager.cc use sd-bus. Unavailable: the connection is lost.
#pragma once

#include <systemd/sd-bus.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

struct CloseBus {
  void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
};
struct UnrefMessage {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
struct UnrefSlot {
  void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using BusHandle = std::unique_ptr<sd_bus, CloseBus>;
using MessageHandle = std::unique_ptr<sd_bus_message, UnrefMessage>;
using SlotHandle = std::unique_ptr<sd_bus_slot, UnrefSlot>;

class BusError {
 public:
  BusError() = default;
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  ~BusError() { sd_bus_error_free(&error_); }
  sd_bus_error* get() { return &error_; }
  // The Status of a call that returned `result` < 0: systemd's own words after `what`.
  absl::Status ToStatus(int result, absl::string_view what) const;

 private:
  sd_bus_error error_ = SD_BUS_ERROR_NULL;
};

// The Status of a function of sd-bus that returned `result` < 0.
absl::Status BusStatus(int result, absl::string_view what);

// Connected to systemd: at `address`; if that is empty, as root by systemd's own socket, and
// otherwise by the system bus.
absl::StatusOr<BusHandle> OpenSystemd(const std::string& address);

// Calls a method of systemd's manager with arguments already described as in sd_bus_call_method.
template <typename... Args>
absl::StatusOr<MessageHandle> CallManager(sd_bus* bus, const char* method, absl::string_view what,
                                          const char* types, Args... args);

namespace internal {
inline constexpr char kService[] = "org.freedesktop.systemd1";
inline constexpr char kManagerPath[] = "/org/freedesktop/systemd1";
inline constexpr char kManager[] = "org.freedesktop.systemd1.Manager";
}  // namespace internal

template <typename... Args>
absl::StatusOr<MessageHandle> CallManager(sd_bus* bus, const char* method, absl::string_view what,
                                          const char* types, Args... args) {
  BusError error;
  sd_bus_message* reply = nullptr;
  const int result =
      sd_bus_call_method(bus, internal::kService, internal::kManagerPath, internal::kManager,
                         method, error.get(), &reply, types, args...);
  if (result < 0) return error.ToStatus(result, what);
  return MessageHandle(reply);
}

}  // namespace muster::agent
