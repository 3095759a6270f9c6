-- What people outside are told; `severity` as notify::Severity, `nodes` a host list.
CREATE TABLE notifications (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  severity INTEGER NOT NULL CHECK (severity BETWEEN 1 AND 3),
  nodes TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  details TEXT NOT NULL,
  resolved INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX notifications_subject ON notifications (kind, subject, nodes, sequence);
CREATE INDEX notifications_open ON notifications (sequence) WHERE ended_at IS NULL;

-- Whether a channel of the inventory has told it; `state` as NotificationDelivery::State.
CREATE TABLE notification_deliveries (
  channel TEXT NOT NULL,
  sequence INTEGER NOT NULL REFERENCES notifications (sequence) ON DELETE CASCADE,
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  message_id TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  error TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (channel, sequence)
) STRICT;
CREATE INDEX notification_deliveries_sequence ON notification_deliveries (sequence);
CREATE INDEX notification_deliveries_pending ON notification_deliveries (channel, sequence)
  WHERE state = 1;
CREATE INDEX notification_deliveries_changed ON notification_deliveries (channel, state, changed_at);

-- How far the audit log has been read for notifications; one row, or none.
CREATE TABLE notification_position (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  event_sequence INTEGER NOT NULL
) STRICT;
