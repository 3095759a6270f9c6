-- The nodes that went out of service after their update and do not count any more, apart from those that failed: of
-- what an earlier version has forgiven, the failures came first.
ALTER TABLE rollouts ADD COLUMN forgiven_out INTEGER NOT NULL DEFAULT 0;
UPDATE rollouts SET forgiven_out = max(0, forgiven - (SELECT count(*) FROM rollout_nodes
  WHERE rollout_nodes.rollout_id = rollouts.rollout_id AND step IN (7, 8)));
UPDATE rollouts SET forgiven = forgiven - forgiven_out;
