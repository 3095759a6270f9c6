-- Times are microseconds since 1970 in UTC; NULL is "not yet".
-- The columns are explained in controller/store/tables.h, the page is docs/store.md.

CREATE TABLE nodes (
  uuid TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
  description TEXT NOT NULL,
  agent_version TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  facts BLOB NOT NULL,
  enrolled_at INTEGER,
  last_seen_at INTEGER,
  plan_sequence INTEGER NOT NULL,
  report_sequence INTEGER NOT NULL,
  last_run_id TEXT NOT NULL,
  last_run_result TEXT NOT NULL
) STRICT;
-- A name belongs to one machine at a time; removed ones (state 4) keep theirs as history.
CREATE UNIQUE INDEX nodes_by_name ON nodes (name) WHERE state <> 4;

CREATE TABLE certificates (
  serial TEXT PRIMARY KEY,
  node_uuid TEXT REFERENCES nodes (uuid) DEFERRABLE INITIALLY DEFERRED,
  user TEXT NOT NULL,
  role TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX certificates_by_node ON certificates (node_uuid);
CREATE INDEX certificates_denied ON certificates (not_after) WHERE revoked_at IS NOT NULL;

CREATE TABLE tokens (
  token_id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  node_name TEXT NOT NULL,
  require_approval INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  revoked_at INTEGER
) STRICT;

CREATE TABLE enrollments (
  enrollment_id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  node_name TEXT NOT NULL,
  csr_pem TEXT NOT NULL,
  description TEXT NOT NULL,
  peer TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  certificate_pem TEXT NOT NULL,
  rejected INTEGER NOT NULL
) STRICT;

CREATE TABLE bundles (
  sha256 TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE inventory (
  revision INTEGER PRIMARY KEY,
  applied_at INTEGER NOT NULL,
  applied_by TEXT NOT NULL,
  files BLOB NOT NULL
) STRICT;

CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
  request BLOB NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  inventory_revision INTEGER NOT NULL,
  current_play INTEGER NOT NULL,
  plays BLOB NOT NULL,
  message TEXT NOT NULL,
  catches_up_run_id TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_time ON runs (created_at);
CREATE INDEX runs_running ON runs (state) WHERE state = 1;

CREATE TABLE run_nodes (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  node_uuid TEXT NOT NULL,
  state TEXT NOT NULL,
  play_index INTEGER NOT NULL,
  ok INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, node)
) STRICT;

CREATE TABLE step_results (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  play_index INTEGER NOT NULL,
  step_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  status INTEGER NOT NULL,
  result BLOB NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (run_id, node, play_index, step_id)
) STRICT;
CREATE INDEX step_results_by_sequence ON step_results (run_id, sequence);

CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) STRICT;

-- The audit log: each entry's hash covers the one before. It only grows.
CREATE TABLE events (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  actor TEXT NOT NULL,
  peer TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;
