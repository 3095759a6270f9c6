-- The blobs that the node's newest plan names, so that it may fetch them after a restart of the
-- controller too: SHA-256 in hex, separated by blanks.
ALTER TABLE nodes ADD COLUMN plan_blobs TEXT NOT NULL DEFAULT '';
