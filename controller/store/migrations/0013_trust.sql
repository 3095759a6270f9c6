-- When the authority that signed a certificate ends: a denied one is remembered until then. Stored
-- before there was this column: for good.
ALTER TABLE certificates ADD COLUMN authority_ends INTEGER NOT NULL DEFAULT 9223372036854775807;
-- On whose word a run stands, and by which certificate: asked again before a node that was away is
-- caught up. Empty: stored before there were these columns, nobody is caught up with it.
ALTER TABLE runs ADD COLUMN mandate_actor TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN mandate_serial TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN mandate_ends INTEGER NOT NULL DEFAULT 0;
-- A certificate's place in the line of its node's: each renewal is one further. A machine that has
-- used one never goes back to an earlier one; who does has a copy of its key.
ALTER TABLE certificates ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE certificates ADD COLUMN used_at INTEGER;
ALTER TABLE certificates ADD COLUMN used_from TEXT NOT NULL DEFAULT '';
-- Why nobody gets in as this machine any more, until its name is enrolled anew. Empty: it is not so.
ALTER TABLE nodes ADD COLUMN locked_because TEXT NOT NULL DEFAULT '';
