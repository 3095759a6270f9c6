-- One more step of a node, v1::ROLLOUT_STEP_REQUEUING; SQLite cannot change a CHECK in place.
CREATE TABLE rollout_nodes_19 (
  rollout_id TEXT NOT NULL REFERENCES rollouts (rollout_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  position INTEGER NOT NULL,
  step INTEGER NOT NULL CHECK (step BETWEEN 1 AND 10),
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
INSERT INTO rollout_nodes_19 SELECT * FROM rollout_nodes;
DROP TABLE rollout_nodes;
ALTER TABLE rollout_nodes_19 RENAME TO rollout_nodes;
CREATE INDEX rollout_nodes_node ON rollout_nodes (node);
