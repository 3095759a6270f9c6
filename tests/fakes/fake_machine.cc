#include "tests/fakes/fake_machine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// The common beginning of all fakes' checks.
absl::Status CommonCheck(FakeMachine& node, const std::string& id) {
  ++node.checks;
  const auto error = node.check_errors.find(id);
  if (error != node.check_errors.end()) return error->second;
  const auto key = node.requires_key.find(id);
  if (key != node.requires_key.end() && node.state().count(key->second) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(id, ": there is no ", key->second));
  }
  return absl::OkStatus();
}

absl::Status CommonApply(FakeMachine& node, const std::string& id, ApplyObserver& observer) {
  ++node.applies;
  const auto during = node.during_apply.find(id);
  if (during != node.during_apply.end()) during->second(observer);
  const auto error = node.apply_errors.find(id);
  return error == node.apply_errors.end() ? absl::OkStatus() : error->second;
}

}  // namespace

class FakeFile final : public Resource {
 public:
  FakeFile(FakeMachine& node, const v1::FileResource& spec) : node_(node), spec_(spec) {}
  std::string Id() const override { return absl::StrCat("file[", spec_.path(), "]"); }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    absl::MutexLock lock(&node_.mutex_);
    const auto it = node_.state_.find(spec_.path());
    const std::string current = it == node_.state_.end() ? "" : it->second;
    if (current == spec_.content()) return std::vector<Change>{};
    return std::vector<Change>{{"content", current, spec_.content(), "-a\n+b\n"}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    RETURN_IF_ERROR(CommonApply(node_, Id(), observer));
    if (node_.never_converge.count(Id()) > 0 || !node_.Deed()) return absl::OkStatus();
    node_.Set(spec_.path(), spec_.content());
    return absl::OkStatus();
  }

 private:
  FakeMachine& node_;
  const v1::FileResource spec_;
};

class FakePackage final : public Resource {
 public:
  FakePackage(FakeMachine& node, const v1::PackageResource& spec)
      : node_(node), names_(spec.names().begin(), spec.names().end()), own_(names_) {}
  std::string Id() const override { return absl::StrCat("package[", own_.front(), "]"); }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    std::vector<Change> changes;
    absl::MutexLock lock(&node_.mutex_);
    for (const std::string& name : own_) {
      if (node_.state_.count(name) == 0) changes.push_back({"package " + name, "absent", "1.0"});
    }
    return changes;
  }
  absl::Status Apply(ApplyObserver& observer) override {
    ++node_.transactions_now;
    if (node_.repositories_now > 0) node_.repository_met_packages = true;
    ++node_.transactions;
    observer.OnOutput("Setting up packages\n");
    absl::Status status = CommonApply(node_, Id(), observer);
    if (status.ok() && node_.Deed()) {
      for (const std::string& name : names_) {
        const auto error = node_.apply_errors.find(absl::StrCat("package[", name, "]"));
        if (error != node_.apply_errors.end()) {
          status = error->second;
          continue;
        }
        node_.Set(name, "1.0");
      }
    }
    --node_.transactions_now;
    return status;
  }
  bool Absorb(Resource& next) override {
    auto* package = dynamic_cast<FakePackage*>(&next);
    if (package == nullptr) return false;
    names_.insert(names_.end(), package->own_.begin(), package->own_.end());
    return true;
  }

 private:
  FakeMachine& node_;
  std::vector<std::string> names_;
  const std::vector<std::string> own_;
};

class FakeRepository final : public Resource {
 public:
  FakeRepository(FakeMachine& node, std::string name) : node_(node), name_(std::move(name)) {}
  std::string Id() const override { return absl::StrCat("package_repository[", name_, "]"); }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    if (node_.state().count(name_) > 0) return std::vector<Change>{};
    return std::vector<Change>{{"repository", "absent", name_}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    ++node_.repositories_now;
    if (node_.transactions_now > 0) node_.repository_met_packages = true;
    const absl::Status status = CommonApply(node_, Id(), observer);
    if (status.ok()) node_.Set(name_, "there");
    --node_.repositories_now;
    return status;
  }

 private:
  FakeMachine& node_;
  const std::string name_;
};

class FakeCommand final : public Resource {
 public:
  FakeCommand(FakeMachine& node, std::string name) : node_(node), name_(std::move(name)) {}
  std::string Id() const override { return absl::StrCat("command[", name_, "]"); }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    return std::vector<Change>{{"command", "", name_}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    RETURN_IF_ERROR(CommonApply(node_, Id(), observer));
    if (!node_.Deed()) return absl::OkStatus();
    absl::MutexLock lock(&node_.mutex_);
    ++node_.command_runs_[name_];
    return absl::OkStatus();
  }
  bool AlwaysChanges() const override { return true; }

 private:
  FakeMachine& node_;
  const std::string name_;
};

class FakeUnit final : public Resource, public UnitRestart {
 public:
  FakeUnit(FakeMachine& node, const v1::UnitResource& spec) : node_(node), spec_(spec) {}
  std::string Id() const override { return absl::StrCat("unit[", spec_.name(), "]"); }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    if (AlwaysChanges()) return std::vector<Change>{{"state", "active", "restarted"}};
    const std::string state = State();
    if (state == "active") return std::vector<Change>{};
    return std::vector<Change>{{"state", state, "started"}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    RETURN_IF_ERROR(CommonApply(node_, Id(), observer));
    node_.Set(spec_.name(), "active");
    if (!AlwaysChanges()) return absl::OkStatus();
    absl::MutexLock lock(&node_.mutex_);
    ++node_.command_runs_[spec_.name()];
    return absl::OkStatus();
  }
  bool AlwaysChanges() const override { return spec_.state() == v1::UNIT_STATE_RESTARTED; }
  absl::StatusOr<bool> NextStartReadsAll() override { return State() == "inactive"; }
  absl::StatusOr<bool> Runs() override { return State() == "active"; }

 private:
  std::string State() const {
    const std::map<std::string, std::string> all = node_.state();
    const auto it = all.find(spec_.name());
    return it == all.end() ? "inactive" : it->second;
  }

  FakeMachine& node_;
  const v1::UnitResource spec_;
};

class FakeReboot final : public Resource {
 public:
  FakeReboot(FakeMachine& node, const v1::RebootResource& spec) : node_(node), spec_(spec) {}
  std::string Id() const override { return "reboot"; }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    const std::map<std::string, std::string> state = node_.state();
    const auto required = state.find("/run/reboot-required");
    if (required == state.end() && !AlwaysChanges()) return std::vector<Change>{};
    return std::vector<Change>{
        {"reboot", "",
         required == state.end() ? "always" : absl::StrCat(required->first, required->second)}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    RETURN_IF_ERROR(CommonApply(node_, Id(), observer));
    ++node_.reboots;
    if (node_.on_reboot) node_.on_reboot();
    return absl::OkStatus();
  }
  bool AlwaysChanges() const override { return spec_.when() == v1::REBOOT_WHEN_ALWAYS; }

 private:
  FakeMachine& node_;
  const v1::RebootResource spec_;
};

// Finds what FakeReboot would reboot for.
class FakePendingReboot final : public Resource, public RebootFinding {
 public:
  FakePendingReboot(FakeMachine& node, const v1::RebootResource& spec) : reboot_(node, spec) {}
  std::string Id() const override { return "pending_reboot"; }
  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::vector<Change> found, reboot_.Check());
    why_ = found.empty() ? "" : found.front().after;
    return std::vector<Change>{};
  }
  absl::Status Apply(ApplyObserver& observer) override { return absl::OkStatus(); }
  const std::string& why_reboot() const override { return why_; }

 private:
  FakeReboot reboot_;
  std::string why_;
};

// Reboots out of one boot.
class FakeLastReboot final : public Resource {
 public:
  FakeLastReboot(FakeMachine& node, std::string boot_id)
      : node_(node), boot_id_(std::move(boot_id)) {}
  std::string Id() const override { return "last_reboot"; }
  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CommonCheck(node_, Id()));
    if (node_.boot_id != boot_id_) return std::vector<Change>{};
    return std::vector<Change>{{"reboot", "", "the update reboots every node"}};
  }
  absl::Status Apply(ApplyObserver& observer) override {
    RETURN_IF_ERROR(CommonApply(node_, Id(), observer));
    ++node_.reboots;
    if (node_.on_reboot) node_.on_reboot();
    return absl::OkStatus();
  }

 private:
  FakeMachine& node_;
  const std::string boot_id_;
};

absl::StatusOr<std::unique_ptr<Resource>> FakeMachine::Make(const v1::Step& step) {
  if (step.has_file()) return std::make_unique<FakeFile>(*this, step.file());
  if (step.has_package()) return std::make_unique<FakePackage>(*this, step.package());
  if (step.has_package_repository())
    return std::make_unique<FakeRepository>(*this, step.package_repository().name());
  if (step.has_command()) return std::make_unique<FakeCommand>(*this, step.command().argv(0));
  if (step.has_unit()) return std::make_unique<FakeUnit>(*this, step.unit());
  if (step.has_reboot()) return std::make_unique<FakeReboot>(*this, step.reboot());
  if (step.has_pending_reboot())
    return std::make_unique<FakePendingReboot>(*this, step.pending_reboot());
  if (step.has_last_reboot())
    return std::make_unique<FakeLastReboot>(*this, step.last_reboot().boot_id());
  return absl::UnimplementedError("the fake node has no such resource");
}

}  // namespace muster::agent
