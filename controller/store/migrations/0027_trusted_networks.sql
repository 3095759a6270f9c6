-- Machines that join by their MAC address, from a network that the inventory trusts.
-- The uuid with which a token has to be used, because the machine that has it was recognized; '': any.
ALTER TABLE tokens ADD COLUMN node_uuid TEXT NOT NULL DEFAULT '';
