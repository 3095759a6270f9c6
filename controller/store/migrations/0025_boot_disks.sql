-- The image that was written to the disk of a node last; `boot_id` of the boot that wrote it. `outcome`:
-- 0 until it is known, as v1.BootPhase afterwards.
CREATE TABLE boot_disks (
  node TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  what TEXT NOT NULL,
  image TEXT NOT NULL,
  written_at INTEGER NOT NULL,
  outcome INTEGER NOT NULL
) STRICT;
