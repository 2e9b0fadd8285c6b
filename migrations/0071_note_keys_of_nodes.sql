-- The keys of secrets that a node has, by their fingerprints, in its order: the first one encrypts. Null for remote workers, and for nodes of
-- a release that does not tell.
alter table node add column secrets_keys text[];
