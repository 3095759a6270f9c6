// A node's earlier measurements, from the store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "controller/validation/judge/history.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/validation.pb.h"

namespace google::protobuf {
class Arena;
}

namespace muster::controller {
class Store;
}

namespace muster::controller::validation {

// Reads earlier results of a node when a judge asks for them. Keeps those of one check of one node,
// because a judge asks for all of its values one after another; those of a whole fleet would not
// fit into memory. Blocks on the store; not thread-safe.
class EarlierResults {
 public:
  // `store` must outlive the object. Results of `validation_id` itself do not count.
  EarlierResults(Store& store, std::string validation_id);
  ~EarlierResults();

  // Returns nothing when the store cannot be read. The first values are five: the oldest that are
  // stored or, where these were measured under other circumstances, those of 60 or of 30 results
  // ago.
  std::vector<double> Values(const EarlierQuery& query);
  // Valid until the next call.
  EarlierPass Newest(const Measurement& measurement);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // node, check, parameters

  // A result, and the circumstances of each of its parts that was asked for; "": the node's.
  struct Earlier {
    v1::CheckResult* result = nullptr;  // in arena_
    absl::Time reported_at;
    absl::flat_hash_map<std::string, std::string> circumstances;
    // Position of the last metric that was found: metrics are asked for in the order in which
    // results hold them.
    int next_metric = 0;
  };

  // Windows in a node's history; each is read when it is first asked for.
  enum Window { kNewest, kOldest, kLongAgo, kSomeTimeAgo, kWindows };

  std::vector<Earlier>& Results(const Key& key, Window window);
  std::vector<Earlier> Read(const Key& key, Window window);
  static std::vector<double> ValuesOf(std::vector<Earlier>& results, const EarlierQuery& query);

  Store& store_;
  const std::string validation_id_;
  std::optional<Key> key_;
  std::optional<std::vector<Earlier>> results_[kWindows];  // of `key_`
  // The memory of results_. A fleet's results are hundreds of thousands of small objects one after
  // another: the arena takes them from one block, again and again.
  ResultUnpacker unpacker_;
  std::vector<char> block_;
  std::unique_ptr<google::protobuf::Arena> arena_;
};

}  // namespace muster::controller::validation
