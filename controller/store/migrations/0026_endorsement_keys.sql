-- Machines that join by the endorsement key of their TPM, and tokens that machines ask for themselves.
-- `endorsement_key`: SHA-256 of the public key, in hex; '': none.
ALTER TABLE nodes ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
ALTER TABLE enrollments ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
ALTER TABLE enrollments ADD COLUMN requested INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN endorsement_key TEXT NOT NULL DEFAULT '';
-- The address that asked; '': a person made the token.
ALTER TABLE tokens ADD COLUMN requested_from TEXT NOT NULL DEFAULT '';
