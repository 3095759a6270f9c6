// People's certificates: for administrators, and each person's own.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/user.grpc.pb.h"

namespace muster::controller {

class Users;

// UserService. Thread-safe.
class UserService final : public v1::UserService::Service {
 public:
  // `users` must outlive the object.
  UserService(Users& users, std::string ca_pem, std::string controller_address);

  grpc::Status CreateUser(grpc::ServerContext* context, const v1::CreateUserRequest* request,
                          v1::CreateUserResponse* response) override;
  grpc::Status ListUsers(grpc::ServerContext* context, const v1::ListUsersRequest* request,
                         v1::ListUsersResponse* response) override;
  grpc::Status RevokeUser(grpc::ServerContext* context, const v1::RevokeUserRequest* request,
                          v1::RevokeUserResponse* response) override;
  grpc::Status RenewUser(grpc::ServerContext* context, const v1::RenewUserRequest* request,
                         v1::RenewUserResponse* response) override;

 private:
  absl::Status CreateUser(const grpc::ServerContext& context, const v1::CreateUserRequest& request,
                          v1::CreateUserResponse& response);
  absl::Status ListUsers(v1::ListUsersResponse& response);
  absl::Status RevokeUser(const grpc::ServerContext& context, const v1::RevokeUserRequest& request,
                          v1::RevokeUserResponse& response);
  absl::Status RenewUser(const grpc::ServerContext& context, const v1::RenewUserRequest& request,
                         v1::RenewUserResponse& response);

  Users& users_;
  const std::string ca_pem_;
  const std::string controller_address_;
};

}  // namespace muster::controller
