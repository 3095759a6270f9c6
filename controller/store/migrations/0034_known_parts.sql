-- The parts of the node, one a line, that a person knows who ends the drain; NULL: not noted.
ALTER TABLE health_drains ADD COLUMN known_parts TEXT;
