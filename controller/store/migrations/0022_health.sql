-- The health of nodes: what they reported last, what changed, and what Muster did about it.

-- The last report of each node, so that a restarted controller knows its last words.
CREATE TABLE health_reports (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid),
  received_at INTEGER NOT NULL,
  report BLOB NOT NULL
) STRICT;

CREATE TABLE health_events (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  node_uuid TEXT NOT NULL,
  node TEXT NOT NULL,
  condition TEXT NOT NULL,
  event BLOB NOT NULL
) STRICT;
CREATE INDEX health_events_node ON health_events (node, sequence);
CREATE INDEX health_events_time ON health_events (time);

-- A node that a condition has drained; the hold is in node_holds.
CREATE TABLE health_drains (
  node_uuid TEXT NOT NULL REFERENCES nodes (uuid),
  condition TEXT NOT NULL,
  state INTEGER NOT NULL,
  drained_at INTEGER NOT NULL,
  good_since INTEGER,
  ended_at INTEGER,
  was_in_service INTEGER NOT NULL,
  relapses INTEGER NOT NULL,
  validation_id TEXT NOT NULL,
  PRIMARY KEY (node_uuid, condition)
) STRICT;

CREATE TABLE health_breakers (
  group_name TEXT PRIMARY KEY,
  opened_at INTEGER NOT NULL,
  denied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE health_silences (
  silence_id TEXT PRIMARY KEY,
  nodes TEXT NOT NULL,
  condition TEXT NOT NULL,
  until INTEGER NOT NULL,
  reason TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
