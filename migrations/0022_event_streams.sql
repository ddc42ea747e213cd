-- How far a client's events are published, and the trace that an event belongs to.
--
-- Transactions commit in another order than they begin, so whatever reads "everything after the last one" by a number or a
-- time misses what commits late. An event's horizon is the transaction id that no transaction had reached when it was
-- written (its own, if that is later). Two things follow. An event that rests upon another has no lower horizon, for the
-- other was committed by then. And once every transaction that still runs is at or past a horizon, no event below it can
-- come any more: the relay reads as far as that, in the order of horizons, and remembers where it was. A mark on each
-- event would cost each a second version of its row.
--
-- The default is of the statement that adds the column for the rows that are there: no rewrite of the table, and what the
-- version before this one writes has its horizon too.
ALTER TABLE outbox_events ADD COLUMN horizon XID8 NOT NULL
    DEFAULT greatest(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id());
ALTER TABLE outbox_events ADD COLUMN traceparent TEXT;
ALTER TABLE outbox_events ADD CONSTRAINT outbox_events_traceparent_length
    CHECK (char_length(traceparent) <= 64);

CREATE INDEX outbox_events_by_horizon ON outbox_events (client_id, horizon);

-- The last event of a client that the broker has accepted. Horizons mean something in one database cluster only, so it is
-- noted which one: after a dump has been restored into another, the stream begins anew. What was made before
-- "pruned_before" may have been deleted, and the audit does not ask for it.
CREATE TABLE event_streams (
    client_id UUID NOT NULL,
    cluster_id BIGINT NOT NULL,
    horizon XID8 NOT NULL,
    aggregate_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    event_id UUID NOT NULL,
    pruned_before TIMESTAMPTZ,
    CONSTRAINT event_streams_pkey PRIMARY KEY (client_id)
) WITH (fillfactor = 50);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT UPDATE (horizon) ON outbox_events TO onefold_service;
        GRANT SELECT, INSERT, UPDATE ON event_streams TO onefold_service;
    END IF;
END
$$;
