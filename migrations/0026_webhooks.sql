-- A client is told of its events at its own endpoints, which answer late, wrongly or not at all. So what is to be told is
-- a row first, written through the door under the event's name, and delivered afterwards for as long as it takes.
--
-- The secrets stand here as they are: whoever signs needs them. url and event_types are the operator's to set.
CREATE TABLE webhook_endpoints (
    client_id UUID NOT NULL,
    endpoint_id UUID NOT NULL,
    url TEXT NOT NULL,
    secrets TEXT[] NOT NULL,
    event_types TEXT[] NOT NULL,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (client_id, endpoint_id),
    CONSTRAINT webhook_endpoints_signed CHECK (cardinality(secrets) BETWEEN 1 AND 2),
    CONSTRAINT webhook_endpoints_status_known CHECK (status IN ('active', 'disabled'))
);

-- One row for each endpoint and event. A turn is taken by moving next_attempt_at on before anybody is called: whoever dies
-- in the middle has told the receiver or not, which knows the event's id from the first time.
CREATE TABLE webhook_deliveries (
    client_id UUID NOT NULL,
    endpoint_id UUID NOT NULL,
    event_id UUID NOT NULL,
    event_type TEXT NOT NULL,
    body BYTEA NOT NULL,
    traceparent TEXT,
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    next_attempt_at TIMESTAMPTZ NOT NULL,
    last_status INTEGER,
    last_fault TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (client_id, endpoint_id, event_id),
    CONSTRAINT webhook_deliveries_status_known CHECK (status IN ('due', 'delivered', 'dead')),
    CONSTRAINT webhook_deliveries_attempts_not_negative CHECK (attempts >= 0),
    CONSTRAINT webhook_deliveries_finished_or_due CHECK ((status = 'due') = (finished_at IS NULL))
) WITH (fillfactor = 70);

CREATE INDEX webhook_deliveries_due
    ON webhook_deliveries (client_id, endpoint_id, next_attempt_at) WHERE status = 'due';
CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (client_id, created_at) WHERE status = 'dead';
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (client_id, finished_at) WHERE status = 'delivered';

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT ON webhook_endpoints TO onefold_service;
        GRANT UPDATE (status, disabled_reason) ON webhook_endpoints TO onefold_service;
        GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_deliveries TO onefold_service;
    END IF;
END
$$;
