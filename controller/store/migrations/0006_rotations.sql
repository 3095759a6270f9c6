-- Secrets that are being exchanged: the next value waits here until every node has it.
CREATE TABLE rotations (
  name TEXT PRIMARY KEY REFERENCES secrets (name),
  phase INTEGER NOT NULL CHECK (phase BETWEEN 1 AND 3),
  version INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  playbook TEXT NOT NULL,
  node_limit TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  started_by TEXT NOT NULL,
  phase_at INTEGER NOT NULL
) STRICT;
