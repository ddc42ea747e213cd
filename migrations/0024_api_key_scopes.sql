-- What an API key may be used for. NULL is everything, what later versions can do included: so are the keys that were made
-- before there were scopes. A server of the version before does not look at this column, and takes a key for everything
-- until it is replaced: make keys with scopes when all servers know of them.
ALTER TABLE api_keys
    ADD COLUMN scopes TEXT[],
    ADD CONSTRAINT api_keys_scopes_not_empty CHECK (cardinality(scopes) > 0);
