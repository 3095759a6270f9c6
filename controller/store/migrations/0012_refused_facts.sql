-- Why the newest report of facts was refused, and when; the facts are those of the last good one.
-- Empty: it was not.
ALTER TABLE node_facts ADD COLUMN refused TEXT NOT NULL DEFAULT '';
ALTER TABLE node_facts ADD COLUMN refused_at INTEGER;
CREATE INDEX node_facts_refused ON node_facts (node_uuid) WHERE refused <> '';
