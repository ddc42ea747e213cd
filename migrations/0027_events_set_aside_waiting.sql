-- Every server counts, every 15 seconds, what consumers have set aside and nobody has seen to. Rows of events that were taken
-- after all stay for the record: the count must not read them.
CREATE INDEX events_set_aside_waiting ON events_set_aside (client_id, consumer) WHERE taken_at IS NULL;
