-- Whether what firmware starts from the disk of a node was signed.
ALTER TABLE boot_disks ADD COLUMN is_signed INTEGER NOT NULL DEFAULT 0;
