-- The roles of playbooks that may read a secret, commas between. "*": all of them, as it was for
-- secrets from before there was this column.
ALTER TABLE secrets ADD COLUMN roles TEXT NOT NULL DEFAULT '*';
