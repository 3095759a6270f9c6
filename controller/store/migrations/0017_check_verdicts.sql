-- The verdict on a result by itself (v1.CheckVerdict), from when it came: a restarted controller does
-- not judge it again. Empty: it was stored by an earlier version.
ALTER TABLE check_results ADD COLUMN verdict BLOB NOT NULL DEFAULT x'';
