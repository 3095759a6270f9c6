-- What a node was found to have when its validation was created: a restarted controller goes on
-- with that, not with what the node has by then. Empty: created before there was this column.
ALTER TABLE validation_nodes ADD COLUMN found BLOB NOT NULL DEFAULT x'';
