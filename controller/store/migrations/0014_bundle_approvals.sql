-- What operators may run: what an administrator has applied (`path` with its `run_id`) or approved
-- by hand. A revoked row stays, so that the next apply does not bring it back.
CREATE TABLE bundle_approvals (
  bundle_sha256 TEXT NOT NULL,
  path TEXT NOT NULL,
  suites_digest TEXT NOT NULL,
  variables TEXT NOT NULL,
  run_id TEXT NOT NULL,
  approved_by TEXT NOT NULL,
  approved_at INTEGER NOT NULL,
  revoked_by TEXT NOT NULL,
  revoked_at INTEGER,
  PRIMARY KEY (bundle_sha256, path)
) STRICT;

-- Empty: uploaded before there was this column.
ALTER TABLE bundles ADD COLUMN uploaded_by TEXT NOT NULL DEFAULT '';
