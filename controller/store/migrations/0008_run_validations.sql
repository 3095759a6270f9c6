-- The suites that runs end with, and what became of them.
CREATE TABLE run_validations (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  play TEXT NOT NULL,
  suite TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 5),
  nodes TEXT NOT NULL,
  passed_nodes TEXT NOT NULL,
  validation_id TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT;
CREATE INDEX run_validations_waiting ON run_validations (state) WHERE state = 1;
