// One transaction's tables over SOCI.
#pragma once

#include "controller/store/soci/tables.h"
#include "controller/store/store.h"

namespace muster::controller {

class SociTransaction final : public Transaction {
 public:
  explicit SociTransaction(SociContext context);
  NodeTable& nodes() override { return nodes_; }
  OpenPlanTable& open_plans() override { return open_plans_; }
  CertificateTable& certificates() override { return certificates_; }
  TokenTable& tokens() override { return tokens_; }
  EnrollmentTable& enrollments() override { return enrollments_; }
  BundleTable& bundles() override { return bundles_; }
  BundleApprovalTable& bundle_approvals() override { return bundle_approvals_; }
  InventoryTable& inventory() override { return inventory_; }
  RunTable& runs() override { return runs_; }
  RunValidationTable& run_validations() override { return run_validations_; }
  RebootTable& reboots() override { return reboots_; }
  StepResultTable& step_results() override { return step_results_; }
  SecretTable& secrets() override { return secrets_; }
  RotationTable& rotations() override { return rotations_; }
  EventTable& events() override { return events_; }
  ValidationTable& validations() override { return validations_; }
  ValidationCheckTable& validation_checks() override { return validation_checks_; }
  NodeServiceTable& node_service() override { return node_service_; }
  NodeHoldTable& node_holds() override { return node_holds_; }
  RolloutTable& rollouts() override { return rollouts_; }
  NotificationTable& notifications() override { return notifications_; }
  NotificationDeliveryTable& notification_deliveries() override { return deliveries_; }
  HealthTable& health() override { return health_; }
  BootTable& boots() override { return boots_; }
  RestoreTable& restores() override { return restores_; }

 private:
  SociNodeTable nodes_;
  SociOpenPlanTable open_plans_;
  SociCertificateTable certificates_;
  SociTokenTable tokens_;
  SociEnrollmentTable enrollments_;
  SociBundleTable bundles_;
  SociBundleApprovalTable bundle_approvals_;
  SociInventoryTable inventory_;
  SociRunTable runs_;
  SociRunValidationTable run_validations_;
  SociRebootTable reboots_;
  SociStepResultTable step_results_;
  SociSecretTable secrets_;
  SociRotationTable rotations_;
  SociEventTable events_;
  SociValidationTable validations_;
  SociValidationCheckTable validation_checks_;
  SociNodeServiceTable node_service_;
  SociNodeHoldTable node_holds_;
  SociRolloutTable rollouts_;
  SociNotificationTable notifications_;
  SociNotificationDeliveryTable deliveries_;
  SociHealthTable health_;
  SociBootTable boots_;
  SociRestoreTable restores_;
};

}  // namespace muster::controller
