#include "tests/fakes/servers/smtp_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr int kPatienceMs = 100;

BIO* TextBio(const std::string& text) {
  return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

SSL_CTX* MakeTls(const std::string& certificate, const std::string& key) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  BIO* const certificate_bio = TextBio(certificate);
  BIO* const key_bio = TextBio(key);
  X509* const parsed = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  EVP_PKEY* const parsed_key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  if (SSL_CTX_use_certificate(context, parsed) != 1 ||
      SSL_CTX_use_PrivateKey(context, parsed_key) != 1)
    std::abort();
  X509_free(parsed);
  EVP_PKEY_free(parsed_key);
  BIO_free(certificate_bio);
  BIO_free(key_bio);
  return context;
}

}  // namespace

class SmtpServer::Session {
 public:
  Session(SmtpServer& server, int socket) : server_(server), socket_(socket) {}
  ~Session() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    ::close(socket_);
  }

  void Run() {
    const SmtpOptions& options = server_.options_;
    if (options.is_silent) return WaitForEnd();
    Say("220 mail.test ESMTP");
    while (const std::optional<std::string> line = ReadLine()) {
      if (absl::StartsWith(*line, "EHLO")) {
        if (server_.tls_ != nullptr && ssl_ == nullptr) Say("250-STARTTLS");
        if (!options.login.empty()) Say("250-AUTH PLAIN");
        Say("250 SIZE 1000000");
      } else if (*line == "STARTTLS" && server_.tls_ != nullptr) {
        Say("220 go ahead");
        if (!Encrypt()) return;
      } else if (absl::StartsWith(*line, "AUTH PLAIN")) {
        Login(line->substr(10));
      } else if (absl::StartsWith(*line, "MAIL FROM:")) {
        mail_.from = line->substr(10, line->find(' ', 10) - 10);  // without "SIZE=25"
        Say("250 ok");
      } else if (absl::StartsWith(*line, "RCPT TO:")) {
        AddReceiver(line->substr(8));
      } else if (*line == "DATA") {
        Say("354 go ahead");
        if (!ReadText()) return;
        Say(options.data_answer);
      } else if (*line == "QUIT") {
        Say("221 bye");
        return;
      } else {
        Say("502 what?");
      }
    }
  }

 private:
  void Login(std::string text) {
    if (text.empty()) {
      Say("334 ");
      text = ReadLine().value_or("");
    } else {
      text = text.substr(1);
    }
    mail_.login = text;
    Say(text == server_.options_.login ? "235 ok" : "535 wrong password");
  }
  void AddReceiver(const std::string& to) {
    if (absl::StrContains(to, "<" + server_.options_.refused_receiver + ">"))
      return Say("550 no such user");
    mail_.to.push_back(to);
    Say("250 ok");
  }
  bool ReadText() {
    mail_.text.clear();
    while (const std::optional<std::string> line = ReadLine()) {
      if (*line == ".") {
        mail_.was_encrypted = ssl_ != nullptr;
        absl::MutexLock lock(&server_.mutex_);
        server_.mails_.push_back(mail_);
        return true;
      }
      absl::StrAppend(&mail_.text, absl::StartsWith(*line, ".") ? line->substr(1) : *line, "\r\n");
    }
    return false;
  }
  bool Encrypt() {
    ssl_ = SSL_new(server_.tls_);
    SSL_set_fd(ssl_, socket_);
    return SSL_accept(ssl_) == 1;
  }
  void WaitForEnd() {
    while (!server_.is_stopping_) {
      pollfd end = {socket_, POLLIN, 0};
      char ignored[64];
      if (::poll(&end, 1, kPatienceMs) > 0 && ::recv(socket_, ignored, sizeof ignored, 0) <= 0)
        return;
    }
  }
  std::optional<std::string> ReadLine() {
    for (;;) {
      const size_t end = input_.find("\r\n");
      if (end != std::string::npos) {
        std::string line = input_.substr(0, end);
        input_.erase(0, end + 2);
        return line;
      }
      char data[4096];
      pollfd ready = {socket_, POLLIN, 0};
      while ((ssl_ == nullptr || SSL_pending(ssl_) == 0) && ::poll(&ready, 1, kPatienceMs) == 0) {
        if (server_.is_stopping_) return std::nullopt;
      }
      const auto size = ssl_ == nullptr ? ::recv(socket_, data, sizeof data, 0)
                                        : SSL_read(ssl_, data, sizeof data);
      if (size <= 0) return std::nullopt;
      input_.append(data, static_cast<size_t>(size));
    }
  }
  void Say(const std::string& line) {
    const std::string bytes = line + "\r\n";
    if (ssl_ != nullptr) {
      SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    } else if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
      input_.clear();
    }
  }

  SmtpServer& server_;
  const int socket_;
  SSL* ssl_ = nullptr;
  std::string input_;
  ReceivedMail mail_;
};

SmtpServer::SmtpServer(SmtpOptions options) : options_(std::move(options)) {
  if (!options_.certificate.empty()) tls_ = MakeTls(options_.certificate, options_.key);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

SmtpServer::~SmtpServer() {
  is_stopping_ = true;
  thread_.join();
  ::close(listener_);
  if (tls_ != nullptr) SSL_CTX_free(tls_);
}

std::string SmtpServer::Url() const { return absl::StrCat("smtp://127.0.0.1:", port_); }

std::vector<ReceivedMail> SmtpServer::mails() const {
  absl::MutexLock lock(&mutex_);
  return mails_;
}

void SmtpServer::Serve() {
  while (!is_stopping_) {
    pollfd ready = {listener_, POLLIN, 0};
    if (::poll(&ready, 1, kPatienceMs) <= 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) Session(*this, socket).Run();
  }
}

}  // namespace muster::testing
