#include "controller/http/later_reply.h"

#include <unistd.h>

#include <utility>

#include <microhttpd.h>

namespace muster::controller {

LaterReply::~LaterReply() {
  if (reply_.fd >= 0) close(reply_.fd);
}

void LaterReply::Finish(HttpReply reply) {
  absl::MutexLock lock(&mutex_);
  if (is_finished_) {
    if (reply.fd >= 0) close(reply.fd);
    return;
  }
  is_finished_ = true;
  reply_ = std::move(reply);
  if (sleeping_ != nullptr) MHD_resume_connection(sleeping_);
  sleeping_ = nullptr;
}

std::optional<HttpReply> LaterReply::TakeOrSleep(MHD_Connection* connection) {
  absl::MutexLock lock(&mutex_);
  if (is_finished_) {
    HttpReply reply = std::move(reply_);
    reply_.fd = -1;
    return reply;
  }
  sleeping_ = connection;
  MHD_suspend_connection(connection);
  return std::nullopt;
}

}  // namespace muster::controller
