-- Which machine a disk belongs to, and what its boot was to write. `mac`: of the boot that wrote the disk; '': not
-- known.
ALTER TABLE boot_disks ADD COLUMN mac TEXT NOT NULL DEFAULT '';
-- Whether the machine was to boot what was signed.
ALTER TABLE boots ADD COLUMN is_signed INTEGER NOT NULL DEFAULT 0;
