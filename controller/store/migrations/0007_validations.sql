-- Validations: a suite over nodes, what its checks measured, what was said of the nodes.
CREATE TABLE validations (
  validation_id TEXT PRIMARY KEY,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  suite TEXT NOT NULL,
  suite_digest TEXT NOT NULL,
  request BLOB NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  inventory_revision INTEGER NOT NULL,
  pair_seed TEXT NOT NULL,
  message TEXT NOT NULL,
  blames BLOB NOT NULL
) STRICT;
CREATE INDEX validations_by_time ON validations (created_at);
CREATE INDEX validations_running ON validations (state) WHERE state = 1;

CREATE TABLE validation_nodes (
  validation_id TEXT NOT NULL REFERENCES validations (validation_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  verdict BLOB NOT NULL,
  PRIMARY KEY (validation_id, node)
) STRICT;
CREATE INDEX validation_nodes_by_node ON validation_nodes (node);

-- One row for each check of each node. The result is large and is kept apart: the rest of the row
-- changes while the check runs.
CREATE TABLE validation_checks (
  check_id TEXT PRIMARY KEY,
  validation_id TEXT NOT NULL REFERENCES validations (validation_id) ON DELETE CASCADE,
  execution_id TEXT NOT NULL,
  node TEXT NOT NULL,
  members TEXT NOT NULL,
  rank INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  stage_name TEXT NOT NULL,
  stage_check INTEGER NOT NULL,
  name TEXT NOT NULL,
  phase INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  reason TEXT NOT NULL,
  put_back INTEGER NOT NULL,
  started_at INTEGER
) STRICT;
CREATE INDEX validation_checks_by_validation ON validation_checks (validation_id);
CREATE INDEX validation_checks_by_node ON validation_checks (node, name);

CREATE TABLE check_results (
  check_id TEXT PRIMARY KEY REFERENCES validation_checks (check_id) ON DELETE CASCADE,
  reported_at INTEGER NOT NULL,
  result BLOB NOT NULL
) STRICT;
CREATE INDEX check_results_by_time ON check_results (reported_at);

-- What a node has passed as what it was then: another GPU, driver or kernel is another machine.
CREATE TABLE node_passes (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid) ON DELETE CASCADE,
  validation_id TEXT NOT NULL,
  suite TEXT NOT NULL,
  suite_digest TEXT NOT NULL,
  gpu_uuids TEXT NOT NULL,
  driver_version TEXT NOT NULL,
  kernel TEXT NOT NULL,
  passed_at INTEGER NOT NULL
) STRICT;

-- Where a node is between Slurm and the tests; see controller/validation/service_state.h.
CREATE TABLE node_services (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid) ON DELETE CASCADE,
  state INTEGER NOT NULL,
  drained_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
