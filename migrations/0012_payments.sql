-- Payments at providers: what was asked for, what the providers say they received, each delivery that said so, and what
-- a person has to decide about.
--
-- A payment's row is where everything about its number meets: a provider that tells of a number before its order is
-- placed makes the row without terms ("parked"), and so contends with the order for one unique key.
CREATE TABLE payments (
    client_id UUID NOT NULL,
    payment_no TEXT COLLATE "C" NOT NULL,
    order_id UUID,
    provider TEXT,
    amount NUMERIC(28, 4),
    currency TEXT,
    status TEXT NOT NULL,
    expires_at TIMESTAMPTZ,
    failed_at TIMESTAMPTZ,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT payments_pkey PRIMARY KEY (client_id, payment_no),
    CONSTRAINT payments_no_length CHECK (char_length(payment_no) BETWEEN 1 AND 64),
    CONSTRAINT payments_status_known CHECK (status IN ('parked', 'pending', 'settled', 'expired', 'closed')),
    CONSTRAINT payments_terms_complete CHECK (
        (status = 'parked' AND order_id IS NULL AND provider IS NULL AND amount IS NULL AND currency IS NULL
            AND expires_at IS NULL)
        OR (status <> 'parked' AND order_id IS NOT NULL AND provider IS NOT NULL AND amount > 0
            AND currency IS NOT NULL AND expires_at IS NOT NULL)
    ),
    CONSTRAINT payments_version_positive CHECK (version > 0)
) WITH (fillfactor = 80);

-- For the sweeper, a client at a time.
CREATE INDEX payments_due ON payments (client_id, expires_at) WHERE status = 'pending';

-- What a provider says was received under one of its payment ids. The id is unique for ever: money that is told of
-- twice is booked once, however long ago the first time was.
--
-- received - refunded is what the provider has of it: applied (in revenue) + owed (in refunds_owed) + the rest (in
-- unapplied_receipts), which may be below zero when a provider takes back what has paid an order.
CREATE TABLE payment_receipts (
    client_id UUID NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    provider_payment_id TEXT COLLATE "C" NOT NULL,
    receipt_id UUID NOT NULL,
    payment_no TEXT COLLATE "C",
    state TEXT NOT NULL,
    currency TEXT,
    received NUMERIC(28, 4),
    refunded NUMERIC(28, 4),
    applied NUMERIC(28, 4),
    owed NUMERIC(28, 4),
    refund_told NUMERIC(28, 4),
    unreadable TEXT,
    open_alert_id UUID,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT payment_receipts_pkey PRIMARY KEY (client_id, provider, provider_payment_id),
    CONSTRAINT payment_receipts_state_known CHECK (state IN (
        'settled', 'mismatched', 'late', 'excess', 'unmatched', 'accepted', 'refund_owed', 'dismissed'
    )),
    CONSTRAINT payment_receipts_funds_complete CHECK (
        num_nulls(currency, received, refunded, applied, owed, refund_told) IN (0, 6)
    ),
    CONSTRAINT payment_receipts_funds_not_negative CHECK (
        received >= 0 AND refunded >= 0 AND applied >= 0 AND owed >= 0 AND refund_told >= refunded
    ),
    CONSTRAINT payment_receipts_version_positive CHECK (version > 0)
) WITH (fillfactor = 80);

-- The conditions of these indexes keep them from whoever asks for a provider's id.
CREATE INDEX payment_receipts_of_payment ON payment_receipts (client_id, payment_no) WHERE payment_no IS NOT NULL;
-- For the sweeper: what is parked and was not asked about yet.
CREATE INDEX payment_receipts_parked ON payment_receipts (client_id, created_at)
    WHERE state = 'unmatched' AND open_alert_id IS NULL;

-- Refunds that a provider tells of each by an id of its own: each counts once.
CREATE TABLE receipt_refunds (
    client_id UUID NOT NULL,
    provider TEXT NOT NULL,
    provider_refund_id TEXT COLLATE "C" NOT NULL,
    provider_payment_id TEXT COLLATE "C" NOT NULL,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT receipt_refunds_pkey PRIMARY KEY (client_id, provider, provider_refund_id),
    CONSTRAINT receipt_refunds_amount_positive CHECK (amount > 0)
);

-- Every delivery that was dealt with, by the provider's name for it; the fingerprint tells a repetition from another
-- content under the same name. Rows are added and never changed. Neither signatures nor bodies are kept here.
CREATE TABLE callback_deliveries (
    client_id UUID NOT NULL,
    endpoint TEXT COLLATE "C" NOT NULL,
    delivery_key TEXT COLLATE "C" NOT NULL,
    delivery_id UUID NOT NULL,
    fingerprint BYTEA NOT NULL,
    provider TEXT NOT NULL,
    event_type TEXT NOT NULL,
    decision TEXT NOT NULL,
    effect TEXT NOT NULL,
    payment_no TEXT COLLATE "C",
    provider_payment_id TEXT,
    received_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT callback_deliveries_pkey PRIMARY KEY (client_id, endpoint, delivery_key),
    CONSTRAINT callback_deliveries_fingerprint_length CHECK (octet_length(fingerprint) = 32)
);

CREATE INDEX callback_deliveries_of_payment ON callback_deliveries (client_id, payment_no, delivery_id)
    WHERE payment_no IS NOT NULL;

-- The bytes of deliveries that a person has to look at, until they are deleted.
CREATE TABLE quarantined_bodies (
    client_id UUID NOT NULL,
    body_id UUID NOT NULL,
    endpoint TEXT NOT NULL,
    delivery_key TEXT NOT NULL,
    body BYTEA NOT NULL,
    received_at TIMESTAMPTZ NOT NULL,
    delete_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT quarantined_bodies_pkey PRIMARY KEY (client_id, body_id)
);

CREATE INDEX quarantined_bodies_due ON quarantined_bodies (client_id, delete_at);

CREATE TABLE payment_alerts (
    client_id UUID NOT NULL,
    alert_id UUID NOT NULL,
    kind TEXT NOT NULL,
    cause TEXT COLLATE "C" NOT NULL,
    payment_no TEXT COLLATE "C",
    provider TEXT NOT NULL,
    provider_payment_id TEXT COLLATE "C",
    receipt_id UUID,
    expected_amount NUMERIC(28, 4),
    expected_currency TEXT,
    received_amount NUMERIC(28, 4),
    received_currency TEXT,
    detail TEXT,
    status TEXT NOT NULL,
    action TEXT,
    resolved_by TEXT,
    resolved_at TIMESTAMPTZ,
    note TEXT,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT payment_alerts_pkey PRIMARY KEY (client_id, alert_id),
    CONSTRAINT payment_alerts_kind_known CHECK (kind IN (
        'mismatched', 'late', 'excess', 'unmatched', 'delivery_conflict', 'refund_mismatched', 'refund_attention'
    )),
    CONSTRAINT payment_alerts_resolution_complete CHECK (
        (status = 'open' AND num_nonnulls(action, resolved_by, resolved_at, note) = 0)
        OR (status = 'resolved' AND num_nulls(action, resolved_by, resolved_at, note) = 0)
    ),
    CONSTRAINT payment_alerts_version_positive CHECK (version > 0)
);

-- Each cause raises one alert. The condition holds for every row, and keeps the index from whoever asks for an id.
CREATE UNIQUE INDEX payment_alerts_cause_unique ON payment_alerts (client_id, kind, cause) WHERE cause IS NOT NULL;

-- What is booked for a receipt names it, and its order if it has one.
ALTER TABLE journal_entries ADD COLUMN receipt_id UUID;
ALTER TABLE journal_entries DROP CONSTRAINT IF EXISTS journal_entries_has_a_cause;
ALTER TABLE journal_entries ADD CONSTRAINT journal_entries_payment_has_a_receipt CHECK (
    receipt_id IS NOT NULL OR kind NOT IN (
        'payment_settled', 'payment_unapplied', 'payment_reversed', 'payment_applied', 'refund_owed', 'owed_refunded',
        'payment_refunded', 'unapplied_refunded'
    )
) NOT VALID;
CREATE INDEX journal_entries_of_receipt ON journal_entries (client_id, receipt_id) WHERE receipt_id IS NOT NULL;

-- An order that is paid at a provider names its payment, and may be paid with more than its amount, if a person has accepted that.
ALTER TABLE orders ADD COLUMN payment_no TEXT COLLATE "C";
ALTER TABLE orders ADD CONSTRAINT orders_at_provider_name_payment CHECK (
    (payment_method = 'provider') = (payment_no IS NOT NULL)
) NOT VALID;
ALTER TABLE orders DROP CONSTRAINT orders_captured_within_amount;
ALTER TABLE orders ADD CONSTRAINT orders_captured_within_amount CHECK (
    captured_amount >= 0 AND (captured_amount <= amount OR payment_method = 'provider')
) NOT VALID;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON payments, payment_receipts, payment_alerts TO onefold_service;
        GRANT SELECT, INSERT ON receipt_refunds, callback_deliveries TO onefold_service;
        GRANT SELECT, INSERT, DELETE ON quarantined_bodies TO onefold_service;
    END IF;
END
$$;
