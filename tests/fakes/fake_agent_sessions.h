// Agents that are connected when a test says so, and that remember the messages sent to them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "controller/session/agent_sessions.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::testing {

class FakeAgentSessions final : public controller::AgentSessions {
 public:
  void Connect(const std::string& uuid) {
    absl::MutexLock lock(&mutex_);
    connected_.insert(uuid);
  }
  void Cut(const std::string& uuid) {
    absl::MutexLock lock(&mutex_);
    connected_.erase(uuid);
  }
  // Every Send() to the node fails as if its queue were full.
  void Clog(const std::string& uuid, bool clogged) {
    absl::MutexLock lock(&mutex_);
    if (clogged)
      clogged_.insert(uuid);
    else
      clogged_.erase(uuid);
  }
  std::vector<v1::ControllerMessage> Take(const std::string& uuid) {
    absl::MutexLock lock(&mutex_);
    std::vector<v1::ControllerMessage> messages;
    messages.swap(sent_[uuid]);
    return messages;
  }

  // The ids of the requests for facts that Take() would return, and removes these.
  std::vector<std::string> TakeFactsRequests(const std::string& uuid) {
    absl::MutexLock lock(&mutex_);
    std::vector<v1::ControllerMessage> others;
    std::vector<std::string> ids;
    for (v1::ControllerMessage& message : sent_[uuid]) {
      if (message.has_gather_facts()) {
        ids.push_back(message.gather_facts().request_id());
      } else {
        others.push_back(std::move(message));
      }
    }
    sent_[uuid] = std::move(others);
    return ids;
  }

  absl::Status Send(absl::string_view node_uuid, const v1::ControllerMessage& message) override {
    absl::MutexLock lock(&mutex_);
    const std::string uuid(node_uuid);
    if (connected_.count(uuid) == 0) {
      return absl::UnavailableError(absl::StrCat(uuid, " is not connected"));
    }
    if (clogged_.count(uuid) > 0) return absl::ResourceExhaustedError("queue full");
    sent_[uuid].push_back(message);
    return absl::OkStatus();
  }
  absl::Status SendPlan(absl::string_view node_uuid,
                        std::shared_ptr<const std::string> message) override {
    v1::ControllerMessage parsed;
    if (!parsed.ParseFromString(*message) || !parsed.has_plan())
      return absl::InvalidArgumentError("not a message with a plan");
    return Send(node_uuid, parsed);
  }
  bool IsConnected(absl::string_view node_uuid) const override {
    absl::MutexLock lock(&mutex_);
    return connected_.count(std::string(node_uuid)) > 0;
  }
  std::vector<controller::AgentSessionInfo> List() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<controller::AgentSessionInfo> infos;
    for (const std::string& uuid : connected_) infos.push_back({.node_uuid = uuid});
    return infos;
  }
  void Disconnect(absl::string_view node_uuid, const absl::Status&) override {
    Cut(std::string(node_uuid));
  }

 private:
  mutable absl::Mutex mutex_;
  std::set<std::string> connected_;
  std::set<std::string> clogged_;
  std::map<std::string, std::vector<v1::ControllerMessage>> sent_;
};

}  // namespace muster::testing
