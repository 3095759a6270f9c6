-- What health does beyond a drain: one reboot, and quarantines that only an administrator ends.
ALTER TABLE health_drains ADD COLUMN is_quarantine INTEGER NOT NULL DEFAULT 0;
ALTER TABLE health_drains ADD COLUMN is_cleared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE health_drains ADD COLUMN reboot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE health_drains ADD COLUMN rollout_id TEXT NOT NULL DEFAULT '';
ALTER TABLE health_drains ADD COLUMN rebooted_at INTEGER;
ALTER TABLE health_drains ADD COLUMN reboot_trouble TEXT NOT NULL DEFAULT '';
ALTER TABLE node_holds ADD COLUMN is_quarantine INTEGER NOT NULL DEFAULT 0;
