// A small mail server on a free port of loopback: takes one connection after the other and keeps
// what it gets.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace muster::testing {

struct ReceivedMail {
  std::string from;             // as in MAIL FROM
  std::vector<std::string> to;  // those that were accepted
  std::string login;            // what AUTH PLAIN had, in base64
  bool was_encrypted = false;
  std::string text;
};

// Set the options before the first connection.
struct SmtpOptions {
  std::string certificate, key;  // PEM; offers STARTTLS if they are set
  std::string login;             // offers AUTH PLAIN, and wants this, in base64
  std::string refused_receiver;  // 550
  std::string data_answer = "250 2.0.0 Ok: queued as 4711";
  bool is_silent = false;  // accepts the connection and says nothing
};

class SmtpServer {
 public:
  explicit SmtpServer(SmtpOptions options = {});
  ~SmtpServer();

  std::string Url() const;
  std::vector<ReceivedMail> mails() const;

 private:
  class Session;
  void Serve();

  const SmtpOptions options_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_stopping_{false};
  mutable absl::Mutex mutex_;
  std::vector<ReceivedMail> mails_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace muster::testing
