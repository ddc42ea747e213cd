-- What has become of an order is told for ever: at whose word each change was made outlives the idempotency record.
--
-- A journal row says under which of the client's keys it was booked, or by which delivery of a provider; neither, where the
-- service did it by itself, or before this migration. It is a column of a row that is written anyway, and costs the hot
-- path its bytes alone.
ALTER TABLE journal_entries ADD COLUMN idempotency_key TEXT;
ALTER TABLE journal_entries ADD COLUMN delivery_id UUID;
ALTER TABLE journal_entries ADD CONSTRAINT journal_entries_one_origin CHECK (
    idempotency_key IS NULL OR delivery_id IS NULL
) NOT VALID;

-- The condition keeps the index from rows that are no order's.
CREATE INDEX journal_entries_of_order ON journal_entries (client_id, order_id) WHERE order_id IS NOT NULL;

-- Each version of an order, as it was made. Rows are added and never changed. The placing of an order that is paid or
-- frozen at once is no row here: its journal row tells as much, and so the hot path writes none.
CREATE TABLE order_versions (
    client_id UUID NOT NULL,
    order_id UUID NOT NULL,
    version BIGINT NOT NULL,
    what TEXT NOT NULL,
    status TEXT NOT NULL,
    captured_amount NUMERIC(28, 4) NOT NULL,
    refunded_amount NUMERIC(28, 4) NOT NULL,
    idempotency_key TEXT,
    delivery_id UUID,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT order_versions_pkey PRIMARY KEY (client_id, order_id, version),
    CONSTRAINT order_versions_version_positive CHECK (version > 0),
    CONSTRAINT order_versions_one_origin CHECK (idempotency_key IS NULL OR delivery_id IS NULL)
);

-- A delivery is found by what names it there. The condition holds for every row, and keeps the index from whoever asks
-- for the provider's name of it.
CREATE UNIQUE INDEX callback_deliveries_id_unique
    ON callback_deliveries (client_id, delivery_id) WHERE delivery_id IS NOT NULL;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT ON order_versions TO onefold_service;
    END IF;
END
$$;
