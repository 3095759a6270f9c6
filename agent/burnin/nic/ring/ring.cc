#include "agent/burnin/nic/ring/ring.h"

#include <algorithm>

namespace muster::burnin {
namespace {

constexpr size_t kPeriod = 65521;  // the largest prime below 2^16

int Modulo(int value, int ranks) { return ((value % ranks) + ranks) % ranks; }

// Twelve well-mixed bits (Knuth's multiplicative hash).
float ValueAt(int rank, size_t element) {
  const uint32_t mixed = (static_cast<uint32_t>(element) + 1) * 2654435761u +
                         static_cast<uint32_t>(rank + 1) * 2246822519u;
  return static_cast<float>((mixed * 2654435761u) >> 20);
}

}  // namespace

RingStep StepOf(int rank, int ranks, int step) {
  if (step < ranks - 1)
    return {.send_chunk = Modulo(rank - step, ranks),
            .receive_chunk = Modulo(rank - step - 1, ranks),
            .reduce = true};
  const int gather = step - (ranks - 1);
  return {.send_chunk = Modulo(rank + 1 - gather, ranks),
          .receive_chunk = Modulo(rank - gather, ranks),
          .reduce = false};
}

ElementRange PartOf(size_t elements, int parts, int index) {
  const auto count = static_cast<size_t>(parts);
  const auto at = static_cast<size_t>(index);
  const size_t each = elements / count;
  const size_t longer = elements % count;  // the first so many have one more
  const size_t begin = at * each + std::min(at, longer);
  return {.begin = begin, .end = begin + each + (at < longer ? 1 : 0)};
}

RingData::RingData(int rank, int ranks) : own_(kPeriod), sums_(kPeriod, 0) {
  for (size_t i = 0; i < kPeriod; ++i) {
    own_[i] = ValueAt(rank, i);
    for (int other = 0; other < ranks; ++other) sums_[i] += ValueAt(other, i);
  }
}

void RingData::Fill(absl::Span<float> data) const {
  for (size_t at = 0; at < data.size(); at += kPeriod)
    std::copy_n(own_.begin(), std::min(kPeriod, data.size() - at), data.begin() + at);
}

size_t RingData::Verify(absl::Span<const float> data, size_t keep,
                        std::vector<Mismatch>& first) const {
  size_t count = 0;
  for (size_t at = 0; at < data.size(); at += kPeriod) {
    const size_t length = std::min(kPeriod, data.size() - at);
    if (std::equal(data.begin() + at, data.begin() + at + length, sums_.begin())) continue;
    for (size_t i = 0; i < length; ++i) {
      if (data[at + i] == sums_[i]) continue;
      ++count;
      if (first.size() < keep) first.push_back({at + i, data[at + i], sums_[i]});
    }
  }
  return count;
}

}  // namespace muster::burnin
