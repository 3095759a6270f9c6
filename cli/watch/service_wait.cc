#include "cli/watch/service_wait.h"

#include <map>
#include <string>

#include "common/base/clock.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

void TakeServices(Clock& clock, const std::function<absl::StatusOr<v1::Validation>()>& get,
                  const std::function<bool()>& stop, v1::Validation& finished) {
  const absl::Time deadline = clock.Now() + kServiceWait;
  absl::StatusOr<v1::Validation> later = get();
  while (later.ok() && later->service_is_behind() && clock.Now() < deadline && !stop()) {
    clock.Sleep(kServiceInterval);
    later = get();
  }
  if (!later.ok()) return;
  std::map<std::string, std::string> services;
  for (const v1::NodeVerdict& node : later->nodes()) services[node.node()] = node.service();
  for (v1::NodeVerdict& node : *finished.mutable_nodes()) node.set_service(services[node.node()]);
  finished.set_service_is_behind(later->service_is_behind());
}

}  // namespace muster::cli
