// People's calls never delay nodes.
#pragma once

namespace muster::controller {

// Makes the calling thread nicer, once and for as long as it lives: call it in threads that serve
// people alone. All agents share gRPC's few callback threads, which must get a processor at once.
// Where the kernel forbids it, nothing changes.
void GiveWay();

}  // namespace muster::controller
