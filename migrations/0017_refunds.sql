-- What was given back of an order, in parts or at once. The order's row holds the running total, under its version; a
-- reference stops the second effect of a retry that comes after its idempotency record was forgotten.
CREATE TABLE refunds (
    client_id UUID NOT NULL,
    refund_id UUID NOT NULL,
    order_id UUID NOT NULL,
    account_id UUID NOT NULL,
    reference TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT refunds_pkey PRIMARY KEY (client_id, refund_id),
    CONSTRAINT refunds_reference_length CHECK (char_length(reference) BETWEEN 1 AND 64),
    CONSTRAINT refunds_amount_positive CHECK (amount > 0),
    CONSTRAINT refunds_status_known CHECK (status IN ('pending', 'unknown', 'succeeded', 'failed')),
    CONSTRAINT refunds_version_positive CHECK (version > 0)
);

-- The conditions hold for every row, and keep the indexes from whoever asks by id.
CREATE UNIQUE INDEX refunds_reference_unique ON refunds (client_id, reference) WHERE reference IS NOT NULL;

-- For the list of an order's refunds, newest first.
CREATE INDEX refunds_of_order ON refunds (client_id, order_id, refund_id) WHERE order_id IS NOT NULL;

-- The items that a refund gives back to the stock.
CREATE TABLE refund_items (
    client_id UUID NOT NULL,
    refund_id UUID NOT NULL,
    order_id UUID NOT NULL,
    sku TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL,
    CONSTRAINT refund_items_pkey PRIMARY KEY (client_id, refund_id, sku),
    CONSTRAINT refund_items_quantity_positive CHECK (quantity > 0)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT ON refunds, refund_items TO onefold_service;
    END IF;
END
$$;
