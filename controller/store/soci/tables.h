// The tables over SOCI, each in its own .cc file. Used by one thread at a time, inside a
// transaction.
#pragma once

#include <string>

#include "controller/store/tables.h"

namespace soci {
class session;
}

namespace muster::controller {

class SociStatements;

// The context that every table works on; `path` is for messages.
struct SociContext {
  soci::session& session;
  const std::string& path;
  SociStatements& statements;
};

class SociNodeTable final : public NodeTable {
 public:
  explicit SociNodeTable(SociContext context) : context_(context) {}
  absl::StatusOr<NodeRecord> Get(absl::string_view uuid) override;
  absl::StatusOr<NodeRecord> GetByName(absl::string_view name) override;
  absl::StatusOr<std::vector<NodeRecord>> List() override;
  absl::Status Put(const NodeRecord& node) override;
  absl::Status SetSequences(absl::string_view uuid, uint64_t plan_sequence,
                            uint64_t report_sequence) override;
  absl::Status Touch(absl::string_view uuid, const NodeTouch& touch) override;
  absl::StatusOr<std::string> Facts(absl::string_view uuid) override;
  absl::Status PutFacts(absl::string_view uuid, const std::string& facts) override;
  absl::Status PutFactsRefusal(const FactsRefusal& refusal) override;
  absl::StatusOr<std::vector<FactsRefusal>> ListFactsRefusals() override;
  absl::Status ForEachFacts(
      absl::FunctionRef<void(const std::string& name, const std::string& facts)> fn) override;

 private:
  const SociContext context_;
};

class SociOpenPlanTable final : public OpenPlanTable {
 public:
  explicit SociOpenPlanTable(SociContext context) : context_(context) {}
  absl::Status Put(const OpenPlanRecord& plan) override;
  absl::StatusOr<std::vector<OpenPlanRecord>> List(absl::string_view node_uuid) override;
  absl::Status RemoveUpTo(absl::string_view node_uuid, absl::string_view plan_id) override;

 private:
  const SociContext context_;
};

class SociCertificateTable final : public CertificateTable {
 public:
  explicit SociCertificateTable(SociContext context) : context_(context) {}
  absl::Status Insert(const CertificateRecord& certificate) override;
  absl::StatusOr<CertificateRecord> Get(absl::string_view serial) override;
  absl::StatusOr<std::vector<CertificateRecord>> ListByNode(absl::string_view uuid) override;
  absl::StatusOr<std::vector<CertificateRecord>> ListUsers() override;
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListNodesBehind(
      absl::string_view signed_by, absl::string_view roots) override;
  absl::StatusOr<CertificateRecord> Newest() override;
  absl::Status MarkUsed(absl::string_view serial, absl::Time now, absl::string_view from) override;
  absl::Status RevokeByNode(absl::string_view uuid, absl::Time now) override;
  absl::Status RevokeByUser(absl::string_view user, absl::Time now) override;
  absl::StatusOr<std::vector<std::string>> ListDenied() override;
  absl::StatusOr<std::vector<DeniedUserRecord>> ListDeniedUsers() override;
  absl::StatusOr<uint64_t> RemoveExpired(absl::Time nodes, absl::Time people) override;

 private:
  const SociContext context_;
};

class SociTokenTable final : public TokenTable {
 public:
  explicit SociTokenTable(SociContext context) : context_(context) {}
  absl::Status Insert(const TokenRecord& token) override;
  absl::StatusOr<TokenRecord> GetByHash(absl::string_view hash) override;
  absl::StatusOr<std::vector<TokenRecord>> List() override;
  absl::StatusOr<std::vector<TokenRecord>> ListRequested(absl::string_view node_name) override;
  absl::StatusOr<uint64_t> CountRequested() override;
  absl::Status DeleteRequested(absl::Time now) override;
  absl::Status Delete(absl::string_view token_id) override;
  absl::Status MarkUsed(absl::string_view token_id, absl::Time now) override;
  absl::Status Revoke(absl::string_view token_id, absl::Time now) override;

 private:
  const SociContext context_;
};

class SociEnrollmentTable final : public EnrollmentTable {
 public:
  explicit SociEnrollmentTable(SociContext context) : context_(context) {}
  absl::StatusOr<EnrollmentRecord> Get(absl::string_view enrollment_id) override;
  absl::StatusOr<std::vector<EnrollmentRecord>> List() override;
  absl::StatusOr<std::vector<EnrollmentRecord>> ListRelated(absl::string_view node_name,
                                                            absl::string_view node_uuid,
                                                            absl::string_view token_hash) override;
  absl::Status Put(const EnrollmentRecord& enrollment) override;
  absl::Status Delete(absl::string_view enrollment_id) override;

 private:
  const SociContext context_;
};

class SociBundleTable final : public BundleTable {
 public:
  explicit SociBundleTable(SociContext context) : context_(context) {}
  absl::Status Put(const BundleRecord& bundle) override;
  absl::StatusOr<BundleRecord> Get(absl::string_view sha256) override;
  absl::StatusOr<std::vector<BundleRecord>> List() override;

 private:
  const SociContext context_;
};

class SociBundleApprovalTable final : public BundleApprovalTable {
 public:
  explicit SociBundleApprovalTable(SociContext context) : context_(context) {}
  absl::Status Put(const BundleApprovalRecord& approval) override;
  absl::StatusOr<std::vector<BundleApprovalRecord>> List(absl::string_view sha256) override;
  absl::StatusOr<std::vector<BundleApprovalRecord>> List() override;

 private:
  const SociContext context_;
};

class SociInventoryTable final : public InventoryTable {
 public:
  explicit SociInventoryTable(SociContext context) : context_(context) {}
  absl::StatusOr<InventoryRecord> Latest() override;
  absl::StatusOr<InventoryRecord> Get(uint64_t revision) override;
  absl::Status Insert(const InventoryRecord& record) override;

 private:
  const SociContext context_;
};

class SociRunTable final : public RunTable {
 public:
  explicit SociRunTable(SociContext context) : context_(context) {}
  absl::Status Put(const RunRecord& run) override;
  absl::StatusOr<RunRecord> Get(absl::string_view run_id) override;
  absl::StatusOr<std::vector<RunRecord>> List(uint32_t limit) override;
  absl::Status ForEachFromNewest(
      absl::FunctionRef<absl::StatusOr<bool>(const RunRecord& run)> fn) override;
  absl::StatusOr<std::vector<RunRecord>> ListRunning() override;
  absl::StatusOr<std::vector<RunRecord>> ListApplied(absl::string_view playbook,
                                                     uint32_t limit) override;
  absl::Status PutNode(const RunNodeRecord& node) override;
  absl::StatusOr<std::vector<RunNodeRecord>> ListNodes(absl::string_view run_id) override;
  absl::StatusOr<RunNodeRecord> GetNode(absl::string_view run_id, absl::string_view node) override;

 private:
  const SociContext context_;
};

class SociRunValidationTable final : public RunValidationTable {
 public:
  explicit SociRunValidationTable(SociContext context) : context_(context) {}
  absl::Status Put(const RunValidationRecord& row) override;
  absl::StatusOr<std::vector<RunValidationRecord>> List(absl::string_view run_id) override;
  absl::StatusOr<std::vector<RunValidationRecord>> ListWaiting() override;

 private:
  const SociContext context_;
};

class SociRebootTable final : public RebootTable {
 public:
  explicit SociRebootTable(SociContext context) : context_(context) {}
  absl::Status Put(const RebootRecord& reboot) override;
  absl::StatusOr<std::vector<RebootRecord>> ListOpen(absl::string_view run_id) override;
  absl::StatusOr<std::vector<RebootRecord>> List(absl::string_view run_id) override;
  absl::Status PutPending(const PendingRebootRecord& pending) override;
  absl::StatusOr<std::vector<PendingRebootRecord>> ListPending() override;

 private:
  const SociContext context_;
};

class SociStepResultTable final : public StepResultTable {
 public:
  explicit SociStepResultTable(SociContext context) : context_(context) {}
  absl::Status Put(const StepResultRecord& result) override;
  absl::StatusOr<bool> PutNew(const StepResultRecord& result) override;
  absl::StatusOr<StepResultRecord> Get(absl::string_view run_id, absl::string_view node,
                                       uint32_t play_index, absl::string_view step_id) override;
  absl::StatusOr<std::vector<StepResultRecord>> List(const StepResultQuery& query) override;
  absl::StatusOr<std::vector<StepResultRecord>> ListNewest(absl::string_view run_id, uint32_t count,
                                                           size_t bytes) override;
  absl::StatusOr<std::optional<int>> Status(absl::string_view run_id, absl::string_view node,
                                            uint32_t play_index,
                                            absl::string_view step_id) override;
  absl::StatusOr<uint64_t> LastSequence(absl::string_view run_id) override;
  absl::StatusOr<uint64_t> RemoveOld(absl::Time time, uint64_t keep_rows,
                                     uint32_t max_rows) override;

 private:
  const SociContext context_;
};

class SociSecretTable final : public SecretTable {
 public:
  explicit SociSecretTable(SociContext context) : context_(context) {}
  absl::StatusOr<SecretRecord> Get(absl::string_view name) override;
  absl::StatusOr<std::vector<SecretRecord>> List() override;
  absl::Status Put(const SecretRecord& secret) override;
  absl::Status Delete(absl::string_view name) override;

 private:
  const SociContext context_;
};

class SociRotationTable final : public RotationTable {
 public:
  explicit SociRotationTable(SociContext context) : context_(context) {}
  absl::StatusOr<RotationRecord> Get(absl::string_view name) override;
  absl::StatusOr<std::vector<RotationRecord>> List() override;
  absl::Status Put(const RotationRecord& rotation) override;
  absl::Status Delete(absl::string_view name) override;

 private:
  const SociContext context_;
};

class SociEventTable final : public EventTable {
 public:
  explicit SociEventTable(SociContext context) : context_(context) {}
  absl::Status Append(EventRecord event) override;
  absl::StatusOr<std::vector<EventRecord>> List(uint32_t limit, uint64_t before_sequence) override;
  absl::StatusOr<std::vector<EventRecord>> ListAfter(uint64_t sequence, uint32_t limit) override;
  absl::StatusOr<std::optional<uint64_t>> FirstBroken() override;
  absl::StatusOr<uint64_t> Count() override;

 private:
  const SociContext context_;
};

class SociValidationTable final : public ValidationTable {
 public:
  explicit SociValidationTable(SociContext context) : context_(context) {}
  absl::Status Put(const ValidationRecord& validation) override;
  absl::StatusOr<ValidationRecord> Get(absl::string_view validation_id) override;
  absl::StatusOr<std::vector<ValidationRecord>> List(uint32_t limit,
                                                     absl::string_view node) override;
  absl::StatusOr<std::vector<ValidationRecord>> ListRunning() override;
  absl::Status PutNode(const ValidationNodeRecord& node) override;
  absl::StatusOr<std::vector<ValidationNodeRecord>> ListNodes(
      absl::string_view validation_id) override;

 private:
  const SociContext context_;
};

class SociValidationCheckTable final : public ValidationCheckTable {
 public:
  explicit SociValidationCheckTable(SociContext context) : context_(context) {}
  absl::Status Put(const ValidationCheckRecord& check) override;
  absl::StatusOr<std::vector<ValidationCheckRecord>> List(absl::string_view validation_id) override;
  absl::Status SetOutcome(absl::string_view check_id, int outcome) override;
  absl::Status PutResult(const CheckResultRecord& result) override;
  absl::StatusOr<CheckResultRecord> GetResult(absl::string_view check_id) override;
  absl::StatusOr<std::vector<CheckResultRecord>> History(const CheckHistoryQuery& query) override;
  absl::StatusOr<std::vector<GoodResultRecord>> ListGood(absl::string_view validation_id,
                                                         int64_t after_place,
                                                         uint32_t limit) override;
  absl::StatusOr<uint64_t> RemoveResults(absl::Time time, uint32_t max_rows) override;

 private:
  const SociContext context_;
};

class SociNodeServiceTable final : public NodeServiceTable {
 public:
  explicit SociNodeServiceTable(SociContext context) : context_(context) {}
  absl::Status PutPass(const NodePassRecord& pass) override;
  absl::Status RemovePass(absl::string_view node_uuid) override;
  absl::Status RemoveService(absl::string_view node_uuid) override;
  absl::StatusOr<NodePassRecord> GetPass(absl::string_view node_uuid) override;
  absl::Status PutService(const NodeServiceRecord& service) override;
  absl::StatusOr<std::vector<NodeServiceRecord>> ListServices() override;

 private:
  const SociContext context_;
};

class SociNodeHoldTable final : public NodeHoldTable {
 public:
  explicit SociNodeHoldTable(SociContext context) : context_(context) {}
  absl::Status Put(const NodeHoldRecord& hold) override;
  absl::Status Delete(absl::string_view node_uuid, absl::string_view owner) override;
  absl::StatusOr<std::vector<NodeHoldRecord>> List() override;

 private:
  const SociContext context_;
};

class SociRolloutTable final : public RolloutTable {
 public:
  explicit SociRolloutTable(SociContext context) : context_(context) {}
  absl::Status Put(const RolloutRecord& rollout) override;
  absl::StatusOr<RolloutRecord> Get(absl::string_view rollout_id) override;
  absl::StatusOr<std::vector<RolloutRecord>> List(uint32_t limit) override;
  absl::StatusOr<std::vector<RolloutRecord>> ListOpen() override;
  absl::Status PutNode(const RolloutNodeRecord& node) override;
  absl::StatusOr<std::vector<RolloutNodeRecord>> ListNodes(absl::string_view rollout_id) override;
  absl::StatusOr<RolloutRecord> NewestOf(absl::string_view node) override;
  absl::Status AppendEvent(const RolloutEventRecord& event) override;
  absl::StatusOr<std::vector<RolloutEventRecord>> ListEvents(absl::string_view rollout_id,
                                                             uint64_t after_sequence) override;

 private:
  const SociContext context_;
};

class SociNotificationTable final : public NotificationTable {
 public:
  explicit SociNotificationTable(SociContext context) : context_(context) {}
  absl::StatusOr<uint64_t> Append(const NotificationRecord& row) override;
  absl::Status Update(const NotificationRecord& row) override;
  absl::StatusOr<std::optional<NotificationRecord>> Newest(absl::string_view kind,
                                                           absl::string_view subject,
                                                           absl::string_view nodes) override;
  absl::StatusOr<std::vector<NotificationRecord>> ListLasting(uint64_t after_sequence,
                                                              uint32_t limit) override;
  absl::StatusOr<uint64_t> Trim(uint64_t keep, absl::Time time) override;
  absl::StatusOr<std::optional<uint64_t>> Position() override;
  absl::Status PutPosition(uint64_t event_sequence) override;

 private:
  const SociContext context_;
};

class SociNotificationDeliveryTable final : public NotificationDeliveryTable {
 public:
  explicit SociNotificationDeliveryTable(SociContext context) : context_(context) {}
  absl::Status Add(absl::string_view channel, uint64_t sequence, absl::Time now) override;
  absl::StatusOr<std::vector<NotificationDelivery>> ListPending(absl::string_view channel,
                                                                uint32_t limit) override;
  absl::Status SetMessage(absl::string_view channel, uint64_t up_to_sequence,
                          absl::string_view message_id) override;
  absl::Status EndAttempt(absl::string_view channel, absl::string_view message_id,
                          NotificationDelivery::State state, absl::string_view error,
                          absl::Time now) override;
  absl::StatusOr<uint64_t> FailOthers(const std::vector<std::string>& channels,
                                      absl::string_view error, absl::Time now) override;
  absl::StatusOr<ChannelSummary> Summary(absl::string_view channel) override;

 private:
  const SociContext context_;
};

class SociHealthTable final : public HealthTable {
 public:
  explicit SociHealthTable(SociContext context) : context_(context) {}
  absl::Status PutReport(const HealthReportRecord& report) override;
  absl::StatusOr<std::vector<HealthReportRecord>> ListReports() override;
  absl::Status RemoveReport(absl::string_view node_uuid) override;
  absl::Status AppendEvent(const HealthEventRecord& event) override;
  absl::StatusOr<std::vector<HealthEventRecord>> ListEvents(absl::string_view node,
                                                            absl::string_view condition,
                                                            uint32_t limit) override;
  absl::StatusOr<std::vector<HealthEventRecord>> ListEventsBefore(uint64_t sequence,
                                                                  uint32_t limit) override;
  absl::StatusOr<std::vector<HealthEventRecord>> ListEventsAfter(uint64_t sequence,
                                                                 uint32_t limit) override;
  absl::StatusOr<uint64_t> RemoveEvents(absl::Time time, uint64_t max_kept,
                                        uint32_t max_rows) override;
  absl::Status PutDrain(const HealthDrainRecord& drain) override;
  absl::Status RemoveDrain(absl::string_view node_uuid, absl::string_view condition) override;
  absl::StatusOr<std::vector<HealthDrainRecord>> ListDrains() override;
  absl::Status PutBreaker(const HealthBreakerRecord& breaker) override;
  absl::Status RemoveBreaker(absl::string_view group) override;
  absl::StatusOr<std::vector<HealthBreakerRecord>> ListBreakers() override;
  absl::Status PutSilence(const HealthSilenceRecord& silence) override;
  absl::Status RemoveSilence(absl::string_view silence_id) override;
  absl::StatusOr<std::vector<HealthSilenceRecord>> ListSilences() override;

 private:
  const SociContext context_;
};

class SociBootTable final : public BootTable {
 public:
  explicit SociBootTable(SociContext context) : context_(context) {}
  absl::Status PutOrder(const BootOrderRecord& order) override;
  absl::Status RemoveOrder(absl::string_view node, absl::string_view order_id) override;
  absl::StatusOr<std::vector<BootOrderRecord>> ListOrders() override;
  absl::Status PutDisk(const BootDiskRecord& disk) override;
  absl::Status RemoveDisk(absl::string_view node) override;
  absl::StatusOr<std::vector<BootDiskRecord>> ListDisks() override;
  absl::Status Append(const BootRecord& boot, uint32_t keep) override;
  absl::Status AppendStep(const BootStepRecord& step) override;
  absl::StatusOr<absl::Time> NewestOf(absl::string_view node) override;
  absl::StatusOr<absl::Time> NewestStepOf(absl::string_view node) override;
  absl::StatusOr<std::vector<BootRecord>> ListNewest() override;
  absl::StatusOr<std::vector<BootStepRecord>> ListNewestSteps() override;
  absl::StatusOr<std::vector<BootStepRecord>> ListStepsBefore(uint64_t sequence,
                                                              uint32_t limit) override;
  absl::StatusOr<std::vector<BootStepRecord>> ListStepsAfter(uint64_t sequence,
                                                             uint32_t limit) override;

 private:
  const SociContext context_;
};

class SociRestoreTable final : public RestoreTable {
 public:
  explicit SociRestoreTable(SociContext context) : context_(context) {}
  absl::Status Begin(absl::Time restored_at) override;
  absl::StatusOr<std::optional<absl::Time>> RestoredAt() override;
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListUnseen() override;
  absl::Status MarkSeen(absl::string_view node_uuid) override;

 private:
  const SociContext context_;
};

}  // namespace muster::controller
