-- The journal: each row moves one amount from the debited account to the credited one, so the books balance
-- by construction. Rows are added and never changed; the service's role has no right to do otherwise.
--
-- A side that is a customer's account carries what that account had afterwards and the version the row made,
-- which orders its statement. A collecting account (revenue, the world outside) has no balance row to contend
-- for, and so no figures here: its balance is the sum of its rows.
CREATE TABLE journal_entries (
    client_id UUID NOT NULL,
    entry_id UUID NOT NULL,
    kind TEXT NOT NULL,
    amount NUMERIC(28, 4) NOT NULL,
    currency TEXT NOT NULL,
    debit_account_id UUID NOT NULL,
    debit_version BIGINT,
    debit_available_after NUMERIC(28, 4),
    debit_held_after NUMERIC(28, 4),
    credit_account_id UUID NOT NULL,
    credit_version BIGINT,
    credit_available_after NUMERIC(28, 4),
    credit_held_after NUMERIC(28, 4),
    reference TEXT,
    movement_id UUID,
    order_id UUID,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT journal_entries_pkey PRIMARY KEY (client_id, entry_id),
    CONSTRAINT journal_entries_amount_positive CHECK (amount > 0),
    CONSTRAINT journal_entries_two_accounts CHECK (debit_account_id <> credit_account_id),
    CONSTRAINT journal_entries_debit_figures CHECK (
        (debit_version IS NULL AND debit_available_after IS NULL AND debit_held_after IS NULL)
        OR (debit_version > 0 AND debit_available_after >= 0 AND debit_held_after >= 0)
    ),
    CONSTRAINT journal_entries_credit_figures CHECK (
        (credit_version IS NULL AND credit_available_after IS NULL AND credit_held_after IS NULL)
        OR (credit_version > 0 AND credit_available_after >= 0 AND credit_held_after >= 0)
    ),
    CONSTRAINT journal_entries_has_a_cause CHECK (movement_id IS NOT NULL OR order_id IS NOT NULL)
);

-- The statement of an account: its rows on either side, by version; and one row a version, never two.
CREATE UNIQUE INDEX journal_entries_debit_version_unique
    ON journal_entries (client_id, debit_account_id, debit_version) WHERE debit_version IS NOT NULL;
CREATE UNIQUE INDEX journal_entries_credit_version_unique
    ON journal_entries (client_id, credit_account_id, credit_version) WHERE credit_version IS NOT NULL;

CREATE TABLE collecting_accounts (
    client_id UUID NOT NULL,
    account_id UUID NOT NULL,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    CONSTRAINT collecting_accounts_pkey PRIMARY KEY (client_id, account_id),
    CONSTRAINT collecting_accounts_name_unique UNIQUE (client_id, name, currency)
);

-- The roll-up of a collecting account. Each transaction that writes journal rows adds one row here with the
-- totals of its own; from time to time many rows are replaced by one with their sum. So the balance is the sum
-- of a few rows however long the journal grows, nobody waits for anybody, and every snapshot is exact.
CREATE TABLE collecting_totals (
    client_id UUID NOT NULL,
    account_id UUID NOT NULL,
    total_id UUID NOT NULL,
    debits NUMERIC(38, 4) NOT NULL,
    credits NUMERIC(38, 4) NOT NULL,
    CONSTRAINT collecting_totals_pkey PRIMARY KEY (client_id, account_id, total_id),
    CONSTRAINT collecting_totals_not_negative CHECK (debits >= 0 AND credits >= 0)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT ON journal_entries, collecting_accounts TO onefold_service;
        -- UPDATE is what locking rows for their replacement asks for; no statement updates one.
        GRANT SELECT, INSERT, UPDATE, DELETE ON collecting_totals TO onefold_service;
    END IF;
END
$$;
