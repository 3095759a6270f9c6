-- The size of the node's results that were stored for the run, those that later ones replaced among them.
ALTER TABLE run_nodes ADD COLUMN result_bytes INTEGER NOT NULL DEFAULT 0;
