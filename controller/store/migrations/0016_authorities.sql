-- Which authority has signed a certificate, and beside which roots it was given out: who is behind
-- while the authority changes. Stored before there were these columns: nobody knows.
ALTER TABLE certificates ADD COLUMN signed_by TEXT NOT NULL DEFAULT '';
ALTER TABLE certificates ADD COLUMN roots TEXT NOT NULL DEFAULT '';
-- The serial of the one that a person's was renewed from.
ALTER TABLE certificates ADD COLUMN replaces TEXT NOT NULL DEFAULT '';
