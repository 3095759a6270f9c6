-- What keeps nodes out of Slurm besides the lack of a pass: persons' drains, and updates.
CREATE TABLE node_holds (
  node_uuid TEXT NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
  owner TEXT NOT NULL,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (node_uuid, owner)
) STRICT;

-- Playbooks over workers, a few at a time; states and steps as v1::RolloutState, v1::RolloutStep.
CREATE TABLE rollouts (
  rollout_id TEXT PRIMARY KEY,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 8),
  request BLOB NOT NULL,
  created_by TEXT NOT NULL,
  mandate_serial TEXT NOT NULL,
  certificate_ends INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  message TEXT NOT NULL,
  inventory_revision INTEGER NOT NULL,
  wave INTEGER NOT NULL,
  wave_since INTEGER NOT NULL,
  forgiven INTEGER NOT NULL,
  previous_bundle TEXT NOT NULL,
  rolled_back_by TEXT NOT NULL,
  left_out TEXT NOT NULL
) STRICT;
CREATE INDEX rollouts_created ON rollouts (created_at);
CREATE INDEX rollouts_open ON rollouts (created_at) WHERE finished_at IS NULL;

CREATE TABLE rollout_nodes (
  rollout_id TEXT NOT NULL REFERENCES rollouts (rollout_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  position INTEGER NOT NULL,
  step INTEGER NOT NULL CHECK (step BETWEEN 1 AND 9),
  since INTEGER NOT NULL,
  message TEXT NOT NULL,
  run_id TEXT NOT NULL,
  validation_id TEXT NOT NULL,
  service_before TEXT NOT NULL,
  was_available INTEGER NOT NULL,
  passed_over INTEGER NOT NULL,
  run_changed INTEGER NOT NULL,
  PRIMARY KEY (rollout_id, node)
) STRICT;
CREATE INDEX rollout_nodes_node ON rollout_nodes (node);

CREATE TABLE rollout_events (
  rollout_id TEXT NOT NULL REFERENCES rollouts (rollout_id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY (rollout_id, sequence)
) STRICT;
