-- When the store was last taken back to a backup; one row at most.
CREATE TABLE restores (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  restored_at INTEGER NOT NULL
) STRICT;
-- Nodes that were members then and whose state in Slurm has not been compared with the store since.
CREATE TABLE restored_nodes (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid)
) STRICT;
