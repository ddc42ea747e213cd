-- Who may call: clients and their API keys. Both are reference tables where the data is spread by client:
-- small, read by every node, and not themselves anybody's business data. A key is stored as its SHA-256 only;
-- keys are random, so a slow password hash would protect nothing and cost every request.
CREATE TABLE clients (
    client_id UUID NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT clients_pkey PRIMARY KEY (client_id),
    CONSTRAINT clients_name_unique UNIQUE (name),
    CONSTRAINT clients_name_length CHECK (char_length(name) BETWEEN 1 AND 64)
);

CREATE TABLE api_keys (
    key_sha256 BYTEA NOT NULL,
    client_id UUID NOT NULL,
    demo BOOLEAN NOT NULL DEFAULT FALSE,
    created_at TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ,
    CONSTRAINT api_keys_pkey PRIMARY KEY (key_sha256),
    CONSTRAINT api_keys_client_exists FOREIGN KEY (client_id) REFERENCES clients (client_id),
    CONSTRAINT api_keys_sha256_length CHECK (octet_length(key_sha256) = 32)
);
