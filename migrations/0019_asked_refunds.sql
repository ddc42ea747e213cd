-- Refunds that a provider is asked for: each under one number for ever, which is its id without the hyphens, so that asking
-- again can never be a second refund.
--
-- What a provider has given back is told by its receipt. A row here says what was asked for and how far that is; whoever
-- makes or ends one changes its receipt's version too, so the sum of the open ones is known under that. When it is the
-- row's turn to be asked about is no part of its own version, as with payments.
CREATE TABLE asked_refunds (
    client_id UUID NOT NULL,
    refund_id UUID NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    provider_payment_id TEXT COLLATE "C" NOT NULL,
    payment_no TEXT COLLATE "C",
    order_id UUID,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    paid NUMERIC(28, 4) NOT NULL,
    status TEXT NOT NULL,
    provider_refund_id TEXT COLLATE "C",
    failure TEXT,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    asked INTEGER NOT NULL DEFAULT 0,
    next_ask_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    CONSTRAINT asked_refunds_pkey PRIMARY KEY (client_id, refund_id),
    CONSTRAINT asked_refunds_amount_within_paid CHECK (amount > 0 AND amount <= paid),
    CONSTRAINT asked_refunds_status_known CHECK (status IN ('pending', 'unknown', 'succeeded', 'failed')),
    CONSTRAINT asked_refunds_failure_of_failed CHECK ((status = 'failed') = (failure IS NOT NULL)),
    CONSTRAINT asked_refunds_version_positive CHECK (version > 0)
) WITH (fillfactor = 80);

-- The condition holds for every row, and keeps the index from whoever asks by id.
CREATE INDEX asked_refunds_of_receipt ON asked_refunds (client_id, provider, provider_payment_id)
    WHERE provider_payment_id IS NOT NULL;
-- Whose turn it is to be asked for, or about.
CREATE INDEX asked_refunds_open ON asked_refunds (client_id, provider, next_ask_at)
    WHERE status IN ('pending', 'unknown');

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON asked_refunds TO onefold_service;
    END IF;
END
$$;
