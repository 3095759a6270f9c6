// The controller's durable state, as transactions.
//
//   store.Update([&](Transaction& txn) -> absl::Status {
//     ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(uuid));
//     node.state = NodeRecord::kEnrolled;
//     return txn.nodes().Put(node);
//   });
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace muster::controller {

class NodeTable;
class OpenPlanTable;
class CertificateTable;
class TokenTable;
class EnrollmentTable;
class BundleApprovalTable;
class BundleTable;
class InventoryTable;
class RunTable;
class RunValidationTable;
class RebootTable;
class StepResultTable;
class SecretTable;
class RotationTable;
class EventTable;
class ValidationTable;
class ValidationCheckTable;
class NodeServiceTable;
class NodeHoldTable;
class RolloutTable;
class NotificationTable;
class NotificationDeliveryTable;
class HealthTable;
class BootTable;
class RestoreTable;

// The tables, inside one transaction. Valid only during the call that received it.
class Transaction {
 public:
  virtual ~Transaction() = default;
  virtual NodeTable& nodes() = 0;
  virtual OpenPlanTable& open_plans() = 0;
  virtual CertificateTable& certificates() = 0;
  virtual TokenTable& tokens() = 0;
  virtual EnrollmentTable& enrollments() = 0;
  virtual BundleTable& bundles() = 0;
  virtual BundleApprovalTable& bundle_approvals() = 0;
  virtual InventoryTable& inventory() = 0;
  virtual RunTable& runs() = 0;
  virtual RunValidationTable& run_validations() = 0;
  virtual RebootTable& reboots() = 0;
  virtual StepResultTable& step_results() = 0;
  virtual SecretTable& secrets() = 0;
  virtual RotationTable& rotations() = 0;
  virtual EventTable& events() = 0;
  virtual ValidationTable& validations() = 0;
  virtual ValidationCheckTable& validation_checks() = 0;
  virtual NodeServiceTable& node_service() = 0;
  virtual NodeHoldTable& node_holds() = 0;
  virtual RolloutTable& rollouts() = 0;
  virtual NotificationTable& notifications() = 0;
  virtual NotificationDeliveryTable& notification_deliveries() = 0;
  virtual HealthTable& health() = 0;
  virtual BootTable& boots() = 0;
  virtual RestoreTable& restores() = 0;
};

// Thread-safe; Updates are serialized, Views are not. Never reads the clock and never makes ids:
// callers pass them in. Errors: NotFound and AlreadyExists for rows; ResourceExhausted when the
// disk is full (nothing of the transaction is kept); Internal for the rest.
class Store {
 public:
  virtual ~Store() = default;
  // Both run `fn` once. Update commits if and only if `fn` returns OK.
  virtual absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn) = 0;
  virtual absl::Status Update(absl::FunctionRef<absl::Status(Transaction&)> fn) = 0;
  // Bytes that the store occupies on disk.
  virtual uint64_t SizeBytes() = 0;
};

}  // namespace muster::controller
