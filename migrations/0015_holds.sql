-- Money that is frozen, and what was taken of it. A hold ends once, under its version; the sum of an account's active
-- holds is what its row has held. The hold of an order has the order's id, and no reference of its own.
CREATE TABLE holds (
    client_id UUID NOT NULL,
    hold_id UUID NOT NULL,
    account_id UUID NOT NULL,
    purpose TEXT NOT NULL,
    reference TEXT,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    captured NUMERIC(28, 4) NOT NULL,
    status TEXT NOT NULL,
    expires_at TIMESTAMPTZ,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT holds_pkey PRIMARY KEY (client_id, hold_id),
    CONSTRAINT holds_reference_length CHECK (char_length(reference) BETWEEN 1 AND 64),
    CONSTRAINT holds_reference_fits_purpose CHECK (
        (purpose = 'client' AND reference IS NOT NULL) OR (purpose = 'order' AND reference IS NULL)
    ),
    CONSTRAINT holds_amount_positive CHECK (amount > 0),
    CONSTRAINT holds_captured_within_amount CHECK (captured BETWEEN 0 AND amount),
    CONSTRAINT holds_status_fits_captured CHECK (
        (status = 'active' AND captured < amount)
        OR (status = 'captured' AND captured > 0)
        OR (status IN ('released', 'expired') AND captured < amount)
    ),
    CONSTRAINT holds_version_positive CHECK (version > 0)
) WITH (fillfactor = 90);

-- The conditions here and below hold for every row that is asked for by these columns, and keep the indexes from whoever
-- asks by id: a planner without statistics finds the client alone as good a key as any.
CREATE UNIQUE INDEX holds_reference_unique ON holds (client_id, reference) WHERE reference IS NOT NULL;

-- For the list of an account's holds, newest first.
CREATE INDEX holds_of_account ON holds (client_id, account_id, hold_id) WHERE account_id IS NOT NULL;

-- For whoever looks for due holds: only those that can become due are in it.
CREATE INDEX holds_due ON holds (client_id, expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;

-- A reference stops the second effect of a capture's retry that comes after its idempotency record was forgotten. The
-- row of the journal that took the money is the capture's identity.
CREATE TABLE hold_captures (
    client_id UUID NOT NULL,
    hold_id UUID NOT NULL,
    entry_id UUID NOT NULL,
    reference TEXT,
    currency TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT hold_captures_pkey PRIMARY KEY (client_id, hold_id, entry_id),
    CONSTRAINT hold_captures_reference_length CHECK (char_length(reference) BETWEEN 1 AND 64),
    CONSTRAINT hold_captures_amount_positive CHECK (amount > 0)
);
CREATE UNIQUE INDEX hold_captures_reference_unique
    ON hold_captures (client_id, hold_id, reference) WHERE reference IS NOT NULL;

-- Freezing moves money within an account, from what it has available to what it has held: both sides of the row are
-- that account, and its figures stand on the side whose part is available. Every other row has two accounts. The rows
-- that are there kept a stricter rule, and need not be read to see that they keep this one.
ALTER TABLE journal_entries ADD COLUMN hold_id UUID;
ALTER TABLE journal_entries DROP CONSTRAINT journal_entries_two_accounts;
ALTER TABLE journal_entries ADD CONSTRAINT journal_entries_two_accounts CHECK (
    (kind = 'hold' AND debit_account_id = credit_account_id
        AND debit_version IS NOT NULL AND credit_version IS NULL)
    OR (kind IN ('hold_release', 'hold_expiry') AND debit_account_id = credit_account_id
        AND debit_version IS NULL AND credit_version IS NOT NULL)
    OR (kind NOT IN ('hold', 'hold_release', 'hold_expiry') AND debit_account_id <> credit_account_id)
) NOT VALID;
ALTER TABLE journal_entries ADD CONSTRAINT journal_entries_has_a_cause CHECK (
    movement_id IS NOT NULL OR order_id IS NOT NULL OR receipt_id IS NOT NULL OR hold_id IS NOT NULL
) NOT VALID;

-- An order that is paid by a hold expires with it, and one that is paid at a provider with its payment.
ALTER TABLE orders ADD COLUMN expires_at TIMESTAMPTZ;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON holds TO onefold_service;
        GRANT SELECT, INSERT ON hold_captures TO onefold_service;
    END IF;
END
$$;
