-- People who were revoked: certificates that were signed up to `denied_before` are denied, also those that a
-- restored store does not have.
CREATE TABLE denied_users (
  name TEXT PRIMARY KEY,
  denied_before INTEGER NOT NULL
) STRICT;
