-- A report is asked for by day, and the books are kept by event: adding up a day of them for each look would read all of
-- it. Each row is one line of a client's day in one currency, kept by the consumer read-model out of the events, each of
-- which is counted once; or computed anew from the books after the day is over (rebuilt_at), and done from then on.
CREATE TABLE daily_totals (
    client_id UUID NOT NULL,
    day DATE NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    rebuilt_at TIMESTAMPTZ,
    version BIGINT NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT daily_totals_pkey PRIMARY KEY (client_id, day, currency, line),
    CONSTRAINT daily_totals_not_negative CHECK (count >= 0 AND amount >= 0),
    CONSTRAINT daily_totals_version_positive CHECK (version > 0)
) WITH (fillfactor = 50);

-- What a consumer could not take: an event that cannot be read, that is too old to tell whether it was counted, or at
-- which the service fails each time. It is out of the way of those behind it, and waits for a person.
CREATE TABLE events_set_aside (
    client_id UUID NOT NULL,
    consumer TEXT NOT NULL,
    event_id UUID NOT NULL,
    event_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    body BYTEA NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    set_aside_at TIMESTAMPTZ NOT NULL,
    taken_at TIMESTAMPTZ,
    CONSTRAINT events_set_aside_pkey PRIMARY KEY (client_id, consumer, event_id)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON daily_totals, events_set_aside TO onefold_service;
    END IF;
END
$$;
