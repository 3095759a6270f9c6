#include "controller/service/front/give_way.h"

#include <sys/resource.h>
#include <unistd.h>

namespace muster::controller {
namespace {

constexpr int kNiceness = 10;

}  // namespace

void GiveWay() {
  static thread_local const bool gives_way =
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness) == 0;
  static_cast<void>(gives_way);
}

}  // namespace muster::controller
