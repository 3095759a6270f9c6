-- Permits to reboot, kept before they are given; a run that goes on after a restart of the
-- controller still knows which of its nodes may be down.
CREATE TABLE reboots (
  permit_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  step_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  granted_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  back_by INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX reboots_open ON reboots (run_id) WHERE ended_at IS NULL;
