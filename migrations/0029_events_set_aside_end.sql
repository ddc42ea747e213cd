-- What a consumer has set aside was kept for ever, with its body: whoever publishes what cannot be read could fill the disk. It
-- is kept for a configured time now, and deleted in small pieces, which are found by their age.
CREATE INDEX events_set_aside_by_age ON events_set_aside (client_id, set_aside_at);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT DELETE ON events_set_aside TO onefold_service;
    END IF;
END
$$;
