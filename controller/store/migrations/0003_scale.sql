-- Facts are large and change alone: beside the row that every report touches, not in it.
CREATE TABLE node_facts (
  node_uuid TEXT PRIMARY KEY REFERENCES nodes (uuid) ON DELETE CASCADE,
  facts BLOB NOT NULL
) STRICT;
INSERT INTO node_facts SELECT uuid, facts FROM nodes WHERE length(facts) > 0;
ALTER TABLE nodes DROP COLUMN facts;

-- Plans that a node may still be working on, with the blobs that they name (SHA-256 in hex,
-- separated by blanks): it may fetch those, also without having heard of a newer plan.
CREATE TABLE open_plans (
  node_uuid TEXT NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
  plan_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  blobs TEXT NOT NULL,
  PRIMARY KEY (node_uuid, plan_id)
) STRICT;
INSERT INTO open_plans SELECT uuid, '', plan_sequence, plan_blobs FROM nodes WHERE plan_blobs <> '';
ALTER TABLE nodes DROP COLUMN plan_blobs;

-- The boots before the current one, newest last, separated by blanks: a clone shows by coming back
-- with one of them.
ALTER TABLE nodes ADD COLUMN earlier_boots TEXT NOT NULL DEFAULT '';
