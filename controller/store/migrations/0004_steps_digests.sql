-- What was compiled for a node, play by play ("0:<digest> 1:<digest>"), of runs that check or are
-- held to a plan file.
ALTER TABLE run_nodes ADD COLUMN steps_digests TEXT NOT NULL DEFAULT '';
