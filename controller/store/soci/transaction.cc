#include "controller/store/soci/transaction.h"

namespace muster::controller {

SociTransaction::SociTransaction(SociContext context)
    : nodes_(context),
      open_plans_(context),
      certificates_(context),
      tokens_(context),
      enrollments_(context),
      bundles_(context),
      bundle_approvals_(context),
      inventory_(context),
      runs_(context),
      run_validations_(context),
      reboots_(context),
      step_results_(context),
      secrets_(context),
      rotations_(context),
      events_(context),
      validations_(context),
      validation_checks_(context),
      node_service_(context),
      node_holds_(context),
      rollouts_(context),
      notifications_(context),
      deliveries_(context),
      health_(context),
      boots_(context),
      restores_(context) {}

}  // namespace muster::controller
