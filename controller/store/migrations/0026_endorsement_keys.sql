-- Machines that join by the endorsement key of their TPM, and tokens that machines ask for themselves.
-- `endorsement_key`: SHA-256 of the public key, in hex; '': none.
ALTER TABLE nodes ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
ALTER TABLE enrollments ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
ALTER TABLE enrollments ADD COLUMN requested INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
-- The address that asked; '': a person made the token.
ALTER TABLE tokens ADD COLUMN requested_from TEXT NOT NULL DEFAULT '';
-- A whole rack boots at once, and each machine asks and joins.
CREATE INDEX tokens_requested ON tokens (node_name, expires_at) WHERE requested_from <> '';
CREATE INDEX tokens_requested_until ON tokens (expires_at) WHERE requested_from <> '';
CREATE INDEX enrollments_by_name ON enrollments (node_name);
CREATE INDEX enrollments_by_uuid ON enrollments (node_uuid);
CREATE INDEX enrollments_by_token ON enrollments (token_hash);
