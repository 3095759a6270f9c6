-- A digest of the parameters by which a check measured: results of others are no measure for it.
-- Empty: stored before there was this column.
ALTER TABLE validation_checks ADD COLUMN parameters_digest TEXT NOT NULL DEFAULT '';
