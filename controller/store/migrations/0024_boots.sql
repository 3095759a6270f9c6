-- What nodes are to boot, whatever the inventory says; `choice` as BootChoice writes it.
CREATE TABLE boot_orders (
  node TEXT PRIMARY KEY,
  order_id TEXT NOT NULL,
  choice TEXT NOT NULL,
  once INTEGER NOT NULL,
  ordered_by TEXT NOT NULL,
  ordered_at INTEGER NOT NULL
) STRICT;

-- The last few boots of each node; `image` is the digest of the image, '' for a disk.
CREATE TABLE boots (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  boot_id TEXT NOT NULL UNIQUE,
  node TEXT NOT NULL,
  mac TEXT NOT NULL,
  what TEXT NOT NULL,
  image TEXT NOT NULL,
  order_id TEXT NOT NULL,
  began_at INTEGER NOT NULL
) STRICT;
CREATE INDEX boots_node ON boots (node, number);

-- What they were seen to do; `phase` as v1.BootPhase.
CREATE TABLE boot_steps (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  boot_id TEXT NOT NULL REFERENCES boots (boot_id) ON DELETE CASCADE,
  node TEXT NOT NULL,
  phase INTEGER NOT NULL,
  detail TEXT NOT NULL,
  time INTEGER NOT NULL
) STRICT;
CREATE INDEX boot_steps_boot ON boot_steps (boot_id, sequence);
