// Between the domain and the contract.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace muster::controller {

google::protobuf::Timestamp ToProto(absl::Time time);

}  // namespace muster::controller
