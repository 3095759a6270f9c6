-- 1: not under test, but borrowed for the checks between nodes, and told of when it is listed.
ALTER TABLE validation_nodes ADD COLUMN is_witness INTEGER NOT NULL DEFAULT 0;
