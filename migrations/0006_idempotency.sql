-- One row for each idempotency key of a client: what was asked (as a fingerprint) and what was answered, byte
-- for byte. It is born finished, in the transaction of the effect: there is no "processing" row that a crash
-- could leave behind.
CREATE TABLE idempotency_records (
    client_id UUID NOT NULL,
    key TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    fingerprint_version SMALLINT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    resource TEXT,
    response_status SMALLINT NOT NULL,
    response_content_type TEXT NOT NULL,
    response_location TEXT,
    response_body BYTEA NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL,
    completed_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (client_id, key),
    CONSTRAINT idempotency_records_key_length CHECK (octet_length(key) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_records_fingerprint_length CHECK (octet_length(fingerprint) = 32),
    CONSTRAINT idempotency_records_status_known CHECK (status IN ('completed', 'failed')),
    CONSTRAINT idempotency_records_attempts_positive CHECK (attempts > 0)
);

-- For the cleaner, which deletes what is past its retention in small batches, a client at a time. The condition
-- holds for every row, and keeps this index for whoever asks about expires_at: a planner that knows no statistics
-- yet finds it as good as the primary key for a request's (client_id, key), and would read all of a client's records
-- to find one.
CREATE INDEX idempotency_records_expiry ON idempotency_records (client_id, expires_at)
    WHERE expires_at IS NOT NULL;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_records TO onefold_service;
    END IF;
END
$$;
