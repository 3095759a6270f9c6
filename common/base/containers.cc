#include "common/base/containers.h"

#include <algorithm>
#include <iterator>

namespace muster {
namespace {

constexpr absl::string_view kContainers[] = {
    "openvz", "lxc", "lxc-libvirt", "systemd-nspawn", "docker",          "podman",
    "rkt",    "wsl", "proot",       "pouch",          "container-other",
};

}  // namespace

bool IsContainer(absl::string_view virtualization) {
  return std::find(std::begin(kContainers), std::end(kContainers), virtualization) !=
         std::end(kContainers);
}

}  // namespace muster
