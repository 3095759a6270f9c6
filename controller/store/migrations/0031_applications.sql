-- The playbook that a run applies whole to the nodes that somebody chose. Empty: it only checks, applies the tasks of
-- some tags, catches up nodes that missed a run, or is that of one node of a rollout. NULL: not known, of a run that an
-- earlier version began.
ALTER TABLE runs ADD COLUMN applies TEXT;
UPDATE runs SET applies = '' WHERE state IN (3, 4) OR created_by LIKE 'policy:drift/%'
  OR catches_up_run_id <> ''
  OR run_id IN (SELECT run_id FROM rollout_nodes);
CREATE INDEX runs_applies ON runs (applies);
