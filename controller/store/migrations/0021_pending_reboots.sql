-- Reboots that nodes need and that a run put off. A node that is in another boot has rebooted.
CREATE TABLE pending_reboots (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid) ON DELETE CASCADE,
  boot_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;
DROP INDEX reboots_open;
CREATE INDEX reboots_run ON reboots (run_id);
