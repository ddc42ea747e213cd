-- Orders, each in one row under a version. client_order_no is the client's own name for the order, unique for
-- ever: it stops the second effect of a retry that comes after its idempotency record has been forgotten.
CREATE TABLE orders (
    client_id UUID NOT NULL,
    order_id UUID NOT NULL,
    client_order_no TEXT NOT NULL,
    account_id UUID NOT NULL,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    captured_amount NUMERIC(28, 4) NOT NULL,
    refunded_amount NUMERIC(28, 4) NOT NULL,
    payment_method TEXT NOT NULL,
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT orders_pkey PRIMARY KEY (client_id, order_id),
    CONSTRAINT orders_client_order_no_unique UNIQUE (client_id, client_order_no),
    CONSTRAINT orders_client_order_no_length CHECK (char_length(client_order_no) BETWEEN 1 AND 64),
    CONSTRAINT orders_amount_positive CHECK (amount > 0),
    CONSTRAINT orders_captured_within_amount CHECK (captured_amount BETWEEN 0 AND amount),
    CONSTRAINT orders_refunded_within_captured CHECK (refunded_amount BETWEEN 0 AND captured_amount),
    CONSTRAINT orders_payment_method_known CHECK (payment_method IN ('balance', 'hold', 'provider')),
    CONSTRAINT orders_status_known CHECK (status IN (
        'pending_payment', 'authorized', 'paid', 'partially_refunded', 'refunded', 'cancelled', 'expired'
    )),
    CONSTRAINT orders_version_positive CHECK (version > 0)
) WITH (fillfactor = 90);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON orders TO onefold_service;
    END IF;
END
$$;
