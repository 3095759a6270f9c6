#include "tests/fakes/servers/redfish_server.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"

namespace muster::testing {
namespace {

constexpr char kRoot[] = "/redfish/v1/";
constexpr char kSystems[] = "/redfish/v1/Systems";
constexpr char kSystem[] = "/redfish/v1/Systems/1";
constexpr char kLater[] = "/redfish/v1/Systems/1/SD";
constexpr char kEtag[] = "W/\"1717171717\"";
constexpr char kReset[] = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";

HttpReply Error(unsigned status, const std::string& message) {
  return {.status = status,
          .body = nlohmann::json{{"error",
                                  {{"code", "Base.1.0.GeneralError"},
                                   {"message", "A general error has occurred."},
                                   {"@Message.ExtendedInfo", {{{"Message", message}}}}}}}
                      .dump()};
}

// Whether the system has an object of later settings.
bool HasLater(RedfishFault fault) {
  return fault == RedfishFault::kLaterBoot || fault == RedfishFault::kSystemBootOnly ||
         fault == RedfishFault::kHiddenLaterBoot;
}

}  // namespace

RedfishServer::RedfishServer(std::string user, std::string password)
    : user_(std::move(user)), password_(std::move(password)) {
  const absl::Time now = absl::Now();
  const pki::Authority authority = *pki::MakeCa("test", absl::Hours(24), now);
  const pki::KeyAndCsr key = *pki::MakeKeyAndCsr("127.0.0.1");
  const std::string certificate =
      *pki::SignCsr(authority, key.csr_pem, {.common_name = "127.0.0.1", .ip_sans = {"127.0.0.1"}},
                    {now - absl::Minutes(5), now + absl::Hours(24)}, pki::Usage::kServer);
  ca_ = authority.certificate_pem;
  pin_ = std::string(absl::StripPrefix(*pki::Sha256Pin(certificate), "sha256:"));
  server_ = std::make_unique<HttpServer>(certificate, key.key_pem);
  for (const char* path : {kRoot, kSystems, kSystem, kLater, kReset})
    server_->Handle(path, [this](const HttpRequest& request) { return Answer(request); });
}

int RedfishServer::port() const {
  const std::string url = server_->Url("");
  int port = 0;
  if (!absl::SimpleAtoi(url.substr(url.rfind(':') + 1), &port)) std::abort();
  return port;
}

void RedfishServer::Set(RedfishFault fault) {
  absl::MutexLock lock(&mutex_);
  fault_ = fault;
}

void RedfishServer::SetOn(bool is_on) {
  absl::MutexLock lock(&mutex_);
  is_on_ = is_on;
}

bool RedfishServer::is_on() const {
  absl::MutexLock lock(&mutex_);
  return is_on_;
}

std::vector<std::string> RedfishServer::orders() const {
  absl::MutexLock lock(&mutex_);
  return orders_;
}

HttpReply RedfishServer::Answer(const HttpRequest& request) {
  absl::MutexLock lock(&mutex_);
  switch (fault_) {
    case RedfishFault::kHangs:
      return {.body = "{}", .cut_at = 0, .stalls = true};
    case RedfishFault::kServerError:
      return Error(503, "The service is temporarily unavailable.");
    case RedfishFault::kGarbage:
      return {.body = "<html>Welcome to your BMC\x01\x02</html>"};
    case RedfishFault::kHuge:
      return {.body = std::string(2 << 20, ' ')};
    case RedfishFault::kDeep:
      return {.body = std::string(100'000, '[')};
    case RedfishFault::kRedirects:
      return {.status = 302, .headers = {{"Location", "https://127.0.0.2/redfish/v1/Systems"}}};
    case RedfishFault::kEchoes:
      return Error(400, absl::StrCat("bad password ", password_));
    case RedfishFault::kNone:
    case RedfishFault::kLies:
    case RedfishFault::kForeignReset:
    case RedfishFault::kWantsMode:
    case RedfishFault::kFixedMode:
    case RedfishFault::kLaterBoot:
    case RedfishFault::kWantsEtag:
    case RedfishFault::kMovingEtag:
    case RedfishFault::kSystemBootOnly:
    case RedfishFault::kHiddenLaterBoot:
      break;
  }
  const auto given = request.headers.find("authorization");
  if (given == request.headers.end() ||
      given->second !=
          absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(user_, ":", password_))))
    return Error(401, "The user name or password is wrong.");
  if (request.path == kRoot)
    return {.body = nlohmann::json{{"Systems", {{"@odata.id", kSystems}}}}.dump()};
  if (request.path == kSystems)
    return {.body = nlohmann::json{{"Members", {{{"@odata.id", kSystem}}}}}.dump()};
  return System(request);
}

HttpReply RedfishServer::Describe(bool is_later) const {
  nlohmann::json described = {{"Boot", {{"BootSourceOverrideTarget", "None"}}}};
  if (fault_ >= RedfishFault::kWantsMode) described["Boot"]["BootSourceOverrideMode"] = "Legacy";
  if (fault_ == RedfishFault::kLaterBoot || fault_ == RedfishFault::kWantsEtag ||
      fault_ == RedfishFault::kMovingEtag)
    described["@odata.etag"] = kEtag;
  if (is_later) {
    if (fault_ == RedfishFault::kHiddenLaterBoot) described["Boot"] = {{"BootOrder", {"NIC.1"}}};
    return {.body = described.dump()};
  }
  if (fault_ == RedfishFault::kLaterBoot) described.erase("Boot");
  if (HasLater(fault_)) described["@Redfish.Settings"]["SettingsObject"]["@odata.id"] = kLater;
  described["PowerState"] = is_on_ ? "On" : "Off";
  described["LocationIndicatorActive"] = false;
  described["Actions"]["#ComputerSystem.Reset"] = {
      {"target", fault_ == RedfishFault::kForeignReset ? absl::StrCat("https://127.0.0.2", kReset)
                                                       : std::string(kReset)},
      {"ResetType@Redfish.AllowableValues",
       {"On", "ForceOff", "GracefulShutdown", "ForceRestart"}}};
  return {.body = described.dump()};
}

HttpReply RedfishServer::Refusal(const HttpRequest& request, bool has_boot, bool has_mode) const {
  const auto match = request.headers.find("if-match");
  if (match == request.headers.end()) return Error(428, "The request lacks If-Match.");
  const bool wants_etag = fault_ == RedfishFault::kWantsEtag || fault_ == RedfishFault::kLaterBoot;
  if (wants_etag && match->second != kEtag) return Error(412, "The etag is another one.");
  if (fault_ == RedfishFault::kMovingEtag && match->second != "*")
    return Error(412, "The etag is another one.");
  if (!has_boot) return {.status = 204};
  if (fault_ == RedfishFault::kWantsMode && !has_mode)
    return Error(400, "The property BootSourceOverrideMode is required.");
  if (fault_ == RedfishFault::kFixedMode && has_mode)
    return Error(400, "The property BootSourceOverrideMode is read only.");
  if (HasLater(fault_) && (request.path == kLater) == (fault_ == RedfishFault::kSystemBootOnly))
    return Error(400, "The property Boot is read only.");
  return {.status = 204};
}

HttpReply RedfishServer::System(const HttpRequest& request) {
  if (request.path == kLater && !HasLater(fault_)) return Error(404, "There is no such object.");
  if (request.method == "GET") return Describe(request.path == kLater);
  const nlohmann::json body = nlohmann::json::parse(request.body, nullptr, false);
  if (body.is_discarded()) return Error(400, "The request is not JSON.");
  if (request.path == kReset) {
    const std::string type = body.value("ResetType", "");
    orders_.push_back(type);
    if (fault_ == RedfishFault::kLies) return {.status = 204};
    if (type == "On") is_on_ = true;
    if (type == "ForceOff" || type == "GracefulShutdown") is_on_ = false;
    return {.status = 204};
  }
  const bool has_mode = body.contains("Boot") && body["Boot"].contains("BootSourceOverrideMode");
  HttpReply refusal = Refusal(request, body.contains("Boot"), has_mode);
  if (refusal.status != 204) return refusal;
  if (body.contains("Boot"))
    orders_.push_back(
        absl::StrCat("boot ", body["Boot"].value("BootSourceOverrideEnabled", ""), " ",
                     body["Boot"].value("BootSourceOverrideTarget", ""), has_mode ? " " : "",
                     has_mode ? body["Boot"].value("BootSourceOverrideMode", "") : ""));
  if (body.contains("LocationIndicatorActive"))
    orders_.push_back(body["LocationIndicatorActive"] == true ? "light on" : "light off");
  return {.status = 204};
}

}  // namespace muster::testing
