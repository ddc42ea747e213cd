-- Events to be told to the world, written in the transaction of what they tell of. The id is fixed here, so
-- that whoever publishes, however often, publishes the same event; sequence orders the events of an aggregate.
CREATE TABLE outbox_events (
    client_id UUID NOT NULL,
    event_id UUID NOT NULL,
    event_type TEXT NOT NULL,
    aggregate_type TEXT NOT NULL,
    aggregate_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    data JSON NOT NULL,
    occurred_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT outbox_events_pkey PRIMARY KEY (client_id, event_id)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, DELETE ON outbox_events TO onefold_service;
    END IF;
END
$$;
