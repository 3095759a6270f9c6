// What a message takes in memory once it is parsed, told from its bytes.
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

// InvalidArgument: the bytes are not a message of this protocol.
absl::Status NoMessage();

// Two bytes of an empty element become a hundred: what came must be measured before it is parsed.
// The figures are those of the generated classes, and never too low by much. Thread-safe.
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
  // What an empty message takes.
  absl::flat_hash_map<const google::protobuf::Descriptor*, size_t> sizes_;
};

}  // namespace muster::wire
