#include "tests/fakes/fake_controller.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"

namespace muster::agent {

FakeController::FakeController() { Listen(0); }

FakeController::~FakeController() { Shutdown(); }

void FakeController::Listen(int port) {
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                           &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

std::string FakeController::address() const { return absl::StrCat("127.0.0.1:", port_); }

void FakeController::Shutdown() {
  if (server_ == nullptr) return;
  Break(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  server_->Wait();
  server_.reset();
}

void FakeController::Restart() {
  {
    absl::MutexLock lock(&mutex_);
    break_ = false;
  }
  Listen(port_);
}

v1::Hello FakeController::LastHello() {
  absl::MutexLock lock(&mutex_);
  v1::Hello hello;
  for (const v1::AgentMessage& message : received) {
    if (message.has_hello()) hello = message.hello();
  }
  return hello;
}

void FakeController::Send(v1::ControllerMessage message) {
  absl::MutexLock lock(&mutex_);
  outgoing_.push_back(std::move(message));
}

void FakeController::Break(grpc::Status status) {
  absl::MutexLock lock(&mutex_);
  break_ = true;
  break_status_ = std::move(status);
}

void FakeController::Refuse(grpc::Status status) {
  absl::MutexLock lock(&mutex_);
  refusal_ = std::move(status);
}

void FakeController::set_acknowledge(bool acknowledge) {
  absl::MutexLock lock(&mutex_);
  acknowledge_ = acknowledge;
}

void FakeController::AddBlob(const std::string& sha256, const std::string& data) {
  absl::MutexLock lock(&mutex_);
  blobs_[sha256] = data;
}

void FakeController::BreakBlobsAt(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  break_blobs_at_ = bytes;
}

void FakeController::Remember(const v1::AgentMessage& message) {
  absl::MutexLock lock(&mutex_);
  received.push_back(message);
  hellos += message.has_hello() ? 1 : 0;
  heartbeats += message.has_heartbeat() ? 1 : 0;
  facts += message.has_facts() ? 1 : 0;
  if (message.has_plan_receipt()) {
    receipts[message.plan_receipt().plan_id()] = message.plan_receipt();
  }
  if (!message.has_reports()) return;
  for (const v1::Report& report : message.reports().reports()) {
    repeated_reports += reports.count(report.report_sequence()) > 0 ? 1 : 0;
    reports[report.report_sequence()] = report;
  }
  if (!acknowledge_) return;
  outgoing_.emplace_back().mutable_reports_stored()->set_up_to_sequence(reports.rbegin()->first);
}

grpc::Status FakeController::Connect(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::ControllerMessage, v1::AgentMessage>* stream) {
  v1::AgentMessage hello;
  if (!stream->Read(&hello) || !hello.has_hello()) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no Hello");
  }
  grpc::Status refusal;
  {
    absl::MutexLock lock(&mutex_);
    refusal = std::exchange(refusal_, grpc::Status());
  }
  if (!refusal.ok()) return refusal;
  v1::ControllerMessage welcome;
  welcome.mutable_welcome()->set_node_name("c001");
  welcome.mutable_welcome()->mutable_heartbeat_interval()->set_nanos(100'000'000);
  welcome.mutable_welcome()->set_renew_certificate(tells_to_renew.exchange(false));
  stream->Write(welcome);
  Remember(hello);

  std::atomic<bool> over{false};
  std::thread reader([&] {
    v1::AgentMessage message;
    while (stream->Read(&message)) Remember(message);
    over = true;
  });
  grpc::Status end;
  while (!over) {
    v1::ControllerMessage next;
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      if (break_) {
        end = break_status_;
        break_ = false;
        break;
      }
      if (!outgoing_.empty()) {
        next = std::move(outgoing_.front());
        outgoing_.pop_front();
        write = true;
      }
    }
    if (write) {
      stream->Write(next);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  // The reader's Read() ends only with the call.
  if (!over) context->TryCancel();
  reader.join();
  return end;
}

grpc::Status FakeController::FetchBlob(grpc::ServerContext* context,
                                       const v1::FetchBlobRequest* request,
                                       grpc::ServerWriter<v1::FetchBlobResponse>* writer) {
  std::string data;
  size_t break_at = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = blobs_.find(request->sha256());
    if (it == blobs_.end()) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such blob");
    data = it->second;
    break_at = std::exchange(break_blobs_at_, 0);
  }
  if (break_at > 0) data.resize(std::min(data.size(), break_at));
  for (size_t at = request->offset(); at < data.size(); at += 65536) {
    v1::FetchBlobResponse part;
    part.set_data(data.substr(at, 65536));
    writer->Write(part);
  }
  if (break_at > 0) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "cable");
  return grpc::Status::OK;
}

grpc::Status FakeController::RenewCertificate(grpc::ServerContext* context,
                                              const v1::RenewCertificateRequest* request,
                                              v1::RenewCertificateResponse* response) {
  if (!on_renew) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no renewals here");
  return on_renew(*request, response);
}

}  // namespace muster::agent
