-- What the relay knows of an event: when the broker had accepted it, and the trace that it belongs to.
--
-- An event is published when its row says so, and never because a number or a time has been passed: transactions commit
-- in another order than they begin, and whatever reads "everything after the last one" misses what committed late. The
-- index holds what waits only, by thing and version, so that a batch has nothing of a thing without what came before it.
ALTER TABLE outbox_events ADD COLUMN published_at TIMESTAMPTZ;
ALTER TABLE outbox_events ADD COLUMN traceparent TEXT;
ALTER TABLE outbox_events ADD CONSTRAINT outbox_events_traceparent_length
    CHECK (char_length(traceparent) <= 64);

CREATE INDEX outbox_events_pending
    ON outbox_events (client_id, aggregate_id, sequence) WHERE published_at IS NULL;

-- Until when a client's published events may have been deleted: what there is no event of any more, the audit does not
-- ask for.
CREATE TABLE outbox_pruned (
    client_id UUID NOT NULL,
    before TIMESTAMPTZ NOT NULL,
    CONSTRAINT outbox_pruned_pkey PRIMARY KEY (client_id)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT UPDATE (published_at) ON outbox_events TO onefold_service;
        GRANT SELECT, INSERT, UPDATE ON outbox_pruned TO onefold_service;
    END IF;
END
$$;
