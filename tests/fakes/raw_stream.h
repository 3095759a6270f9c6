// A stream whose messages are arbitrary bytes, for peers that do not speak our protocol.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace muster::testing {

// Every call waits for gRPC, at most twenty seconds. Not thread-safe.
class RawStream {
 public:
  // `method` is the path of a call: "/package.Service/Method".
  RawStream(std::shared_ptr<grpc::Channel> channel, const std::string& method)
      : stub_(std::move(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    Wait();
  }
  ~RawStream() {
    if (!is_finished_) {
      context_.TryCancel();
      Finish();
    }
    queue_.Shutdown();
    Wait();
  }
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  // False: the stream is over.
  bool Write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream_->Write(grpc::ByteBuffer(&slice, 1), this);
    return Wait();
  }
  bool Read(std::string* bytes) {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, this);
    if (!Wait()) return false;
    std::vector<grpc::Slice> slices;
    buffer.Dump(&slices);
    bytes->clear();
    for (const grpc::Slice& slice : slices)
      bytes->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return true;
  }
  // As if the peer's machine were gone.
  void Cancel() { context_.TryCancel(); }
  // How it ended, after reading everything that still comes.
  grpc::Status Finish() {
    std::string ignored;
    while (Read(&ignored)) {
    }
    grpc::Status status;
    stream_->Finish(&status, this);
    Wait();
    is_finished_ = true;
    return status;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool is_ok = false;
    return queue_.Next(&tag, &is_ok) && is_ok;
  }

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool is_finished_ = false;
};

}  // namespace muster::testing
