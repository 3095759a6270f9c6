// Computes from the bytes of a message how much memory it takes once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace google::protobuf {
class Descriptor;
namespace io {
class CodedInputStream;
class ZeroCopyInputStream;
}  // namespace io
}  // namespace google::protobuf

namespace muster::wire {

// The error for bytes that are not a message of this protocol: InvalidArgument.
absl::Status NoMessage();

// Two bytes of an empty element become a hundred: received bytes must be measured before they are
// parsed. The figures are those of the generated classes, and never much too low. Thread-safe.
class ExpansionMeter {
 public:
  // For messages of this type.
  explicit ExpansionMeter(const google::protobuf::Descriptor& root);

  // ResourceExhausted: it would take more than `limit` bytes. InvalidArgument: NoMessage().
  absl::Status Check(google::protobuf::io::ZeroCopyInputStream& bytes, size_t limit) const;

 private:
  void Measure(const google::protobuf::Descriptor& message);
  absl::Status Walk(google::protobuf::io::CodedInputStream& in,
                    const google::protobuf::Descriptor& message, size_t& left) const;

  const google::protobuf::Descriptor& root_;
  // The size of an empty message.
  absl::flat_hash_map<const google::protobuf::Descriptor*, size_t> sizes_;
};

}  // namespace muster::wire
