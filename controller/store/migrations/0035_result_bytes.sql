-- The bytes of all results of the node that the run has stored, including those that were replaced.
ALTER TABLE run_nodes ADD COLUMN result_bytes INTEGER NOT NULL DEFAULT 0;
