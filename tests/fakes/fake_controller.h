// The controller's side of agents' sessions over loopback, for tests of the agent.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::agent {

// Serves one agent at a time; remembers the received messages. Thread-safe.
class FakeController final : public v1::AgentSessionService::Service {
 public:
  // Listens on a free port of loopback without TLS.
  FakeController();
  ~FakeController() override;

  std::string address() const;
  // Stops listening and breaks the streams; Restart() listens on the same port again.
  void Shutdown();
  void Restart();

  // Sent on the present stream, or the next.
  void Send(v1::ControllerMessage message);
  // Ends the present stream with this status.
  void Break(grpc::Status status);
  // Answers the next greeting with this status instead of a welcome.
  void Refuse(grpc::Status status);
  // Reports are acknowledged as they come; false: never.
  void set_acknowledge(bool acknowledge);
  void AddBlob(const std::string& sha256, const std::string& data);
  // The stream of a blob breaks once after so many bytes.
  void BreakBlobsAt(size_t bytes);
  // The next welcome tells the agent to renew its certificate.
  std::atomic<bool> tells_to_renew = false;
  // Signs the requests of RenewCertificate.
  std::function<grpc::Status(const v1::RenewCertificateRequest&, v1::RenewCertificateResponse*)>
      on_renew;

  // Waits until `condition` holds for the received messages.
  template <typename Condition>
  bool Await(Condition condition, absl::Duration timeout = absl::Seconds(90)) {
    const auto holds = [&] { return condition(*this); };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&holds), timeout);
  }

  // The agent's latest Hello.
  v1::Hello LastHello();

  // Read it inside Await() or after the agent has gone; members that no later message can change,
  // also after an Await() for them.
  std::vector<v1::AgentMessage> received;
  std::map<uint64_t, v1::Report> reports;  // by sequence
  std::map<std::string, v1::PlanReceipt> receipts;
  int hellos = 0;
  int heartbeats = 0;
  int facts = 0;
  int repeated_reports = 0;

 private:
  grpc::Status Connect(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ControllerMessage, v1::AgentMessage>* stream) override;
  grpc::Status FetchBlob(grpc::ServerContext* context, const v1::FetchBlobRequest* request,
                         grpc::ServerWriter<v1::FetchBlobResponse>* writer) override;
  grpc::Status RenewCertificate(grpc::ServerContext* context,
                                const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override;
  void Listen(int port);
  void Remember(const v1::AgentMessage& message);

  absl::Mutex mutex_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::deque<v1::ControllerMessage> outgoing_;
  bool break_ = false;
  bool acknowledge_ = true;
  grpc::Status break_status_;
  grpc::Status refusal_;  // OK: none
  std::map<std::string, std::string> blobs_;
  size_t break_blobs_at_ = 0;
};

}  // namespace muster::agent
