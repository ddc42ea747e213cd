-- Customer accounts, each with its balance in the one row that decisions depend on and contend for.
--
-- Every change of a row raises version by one and names the version it was decided on. Each journal row of
-- the account carries the version it made; closing makes a version too, without a journal row, and is the last.
-- The upper bound keeps every figure printable in the API's grammar: 18 integer digits.
CREATE TABLE accounts (
    client_id UUID NOT NULL,
    account_id UUID NOT NULL,
    owner TEXT NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL,
    available NUMERIC(28, 4) NOT NULL,
    held NUMERIC(28, 4) NOT NULL,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT accounts_pkey PRIMARY KEY (client_id, account_id),
    CONSTRAINT accounts_owner_length CHECK (char_length(owner) BETWEEN 1 AND 64),
    CONSTRAINT accounts_currency_code CHECK (octet_length(currency) = 3),
    CONSTRAINT accounts_status_known CHECK (status IN ('open', 'closed')),
    CONSTRAINT accounts_available_not_negative CHECK (available >= 0),
    CONSTRAINT accounts_held_not_negative CHECK (held >= 0),
    CONSTRAINT accounts_balance_in_range CHECK (available + held < 1000000000000000000),
    CONSTRAINT accounts_closed_is_empty CHECK (status = 'open' OR (available = 0 AND held = 0)),
    CONSTRAINT accounts_version_not_negative CHECK (version >= 0)
) WITH (fillfactor = 70);

-- What moved money at a client's word, and the business key it did so under: a reference is unique per client
-- and kind for ever, which stops the second effect of a retry that comes after its record has been forgotten.
CREATE TABLE movements (
    client_id UUID NOT NULL,
    movement_id UUID NOT NULL,
    kind TEXT NOT NULL,
    reference TEXT NOT NULL,
    from_account_id UUID,
    to_account_id UUID,
    amount NUMERIC(28, 4) NOT NULL,
    currency TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT movements_pkey PRIMARY KEY (client_id, movement_id),
    CONSTRAINT movements_reference_unique UNIQUE (client_id, kind, reference),
    CONSTRAINT movements_reference_length CHECK (char_length(reference) BETWEEN 1 AND 64),
    CONSTRAINT movements_amount_positive CHECK (amount > 0),
    CONSTRAINT movements_kind_fits_accounts CHECK (
        (kind = 'deposit' AND from_account_id IS NULL AND to_account_id IS NOT NULL)
        OR (kind = 'withdrawal' AND from_account_id IS NOT NULL AND to_account_id IS NULL)
        OR (kind = 'transfer' AND from_account_id IS NOT NULL AND to_account_id IS NOT NULL
            AND from_account_id <> to_account_id)
    )
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON accounts TO onefold_service;
        GRANT SELECT, INSERT ON movements TO onefold_service;
        GRANT SELECT ON clients, api_keys TO onefold_service;
    END IF;
END
$$;
