-- Fills a database that the service has migrated and made its demo client and its collecting accounts in:
--
--   psql -v accounts=10000 -v orders=10000 -f fill.sql DATABASE
--
-- What is filled in is what the service would have written: each account is opened and funded by a deposit, the orders go to
-- the accounts in turns, and every order has its journal row, its record and its event. So the books balance, each
-- account's version is its last journal row's, and `onefold verify` has nothing to say about it.
\set ON_ERROR_STOP on
SET jit = off;
BEGIN;

-- Ids in ascending order, older than any that the service makes. The demo's own begin with the same digits and are smaller.
CREATE FUNCTION pg_temp.id(kind TEXT, number BIGINT) RETURNS UUID IMMUTABLE LANGUAGE SQL AS
    $$ SELECT ('01900000-0000-7' || kind || '-8000-' || lpad(to_hex(number), 12, '0'))::uuid $$;

CREATE TEMPORARY TABLE demo AS
    SELECT c.client_id,
           (SELECT account_id FROM collecting_accounts o WHERE o.client_id = c.client_id AND o.name = 'outside' AND o.currency = 'CNY') AS outside_id,
           (SELECT account_id FROM collecting_accounts r WHERE r.client_id = c.client_id AND r.name = 'revenue' AND r.currency = 'CNY') AS revenue_id,
           timestamptz '2025-01-01 00:00:00Z' AS created_at
    FROM clients c
    WHERE c.name = 'demo';

CREATE TEMPORARY TABLE filled_accounts AS
    SELECT n, pg_temp.id('100', n) AS account_id, :orders / :accounts + (n <= :orders % :accounts)::int AS orders
    FROM generate_series(1, :accounts) AS n;

INSERT INTO accounts (client_id, account_id, owner, currency, status, available, held, version, created_at)
SELECT d.client_id, a.account_id, 'filled-' || a.n, 'CNY', 'open', 1000000000.00 - a.orders, 0, 1 + a.orders, d.created_at
FROM filled_accounts a, demo d
ORDER BY a.n;

INSERT INTO movements (client_id, movement_id, kind, reference, from_account_id, to_account_id, amount, currency, created_at)
SELECT d.client_id, pg_temp.id('200', a.n), 'deposit', 'filled-' || a.n, NULL, a.account_id, 1000000000.00, 'CNY', d.created_at
FROM filled_accounts a, demo d
ORDER BY a.n;

INSERT INTO journal_entries (
    client_id, entry_id, kind, amount, currency, debit_account_id,
    credit_account_id, credit_version, credit_available_after, credit_held_after, reference, movement_id, created_at
)
SELECT d.client_id, pg_temp.id('200', a.n), 'deposit', 1000000000.00, 'CNY', d.outside_id,
       a.account_id, 1, 1000000000.00, 0, 'filled-' || a.n, pg_temp.id('200', a.n), d.created_at
FROM filled_accounts a, demo d
ORDER BY a.n;

INSERT INTO outbox_events (
    client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
)
SELECT d.client_id, pg_temp.id('100', a.n), 'onefold.account.opened.v1', 'account', a.account_id, 0,
       json_build_object('account_id', a.account_id, 'owner', 'filled-' || a.n, 'currency', 'CNY'),
       d.created_at
FROM filled_accounts a, demo d
UNION ALL
SELECT d.client_id, pg_temp.id('200', a.n), 'onefold.movement.deposited.v1', 'movement', pg_temp.id('200', a.n), 1,
       json_build_object('movement_id', pg_temp.id('200', a.n), 'kind', 'deposit', 'from_account_id', NULL,
                         'to_account_id', a.account_id, 'currency', 'CNY', 'amount', '1000000000.00',
                         'reference', 'filled-' || a.n),
       d.created_at
FROM filled_accounts a, demo d;

-- An order's place among those of its account, counted from 1, is (n - 1) / accounts + 1: they go round.
CREATE TEMPORARY TABLE filled_orders AS
    SELECT n, pg_temp.id('300', n) AS order_id, pg_temp.id('100', (n - 1) % :accounts + 1) AS account_id,
           (n - 1) / :accounts + 1 AS place
    FROM generate_series(1, :orders::bigint) AS n;

INSERT INTO orders (
    client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
    payment_method, status, version, created_at, updated_at
)
SELECT d.client_id, o.order_id, 'filled-' || o.n, o.account_id, 'CNY', 1.00, 1.00, 0, 'balance', 'paid', 1,
       d.created_at, d.created_at
FROM filled_orders o, demo d
ORDER BY o.n;

INSERT INTO journal_entries (
    client_id, entry_id, kind, amount, currency, debit_account_id, debit_version, debit_available_after,
    debit_held_after, credit_account_id, order_id, created_at, idempotency_key
)
SELECT d.client_id, o.order_id, 'order_payment', 1.00, 'CNY', o.account_id, 1 + o.place, 1000000000.00 - o.place,
       0, d.revenue_id, o.order_id, d.created_at, 'filled-' || o.n
FROM filled_orders o, demo d
ORDER BY o.n;

INSERT INTO outbox_events (
    client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
)
SELECT d.client_id, o.order_id, 'onefold.order.paid.v1', 'order', o.order_id, 1,
       json_build_object('order_id', o.order_id, 'client_order_no', 'filled-' || o.n, 'account_id', o.account_id,
                         'currency', 'CNY', 'amount', '1.00', 'captured_amount', '1.00', 'refunded_amount', '0.00',
                         'status', 'paid'),
       d.created_at
FROM filled_orders o, demo d
ORDER BY o.n;

-- They expire long after any run, so that the service's cleaner has nothing to do in it.
INSERT INTO idempotency_records (
    client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
    response_status, response_content_type, response_location, response_body, first_seen_at, completed_at, expires_at
)
SELECT d.client_id, 'filled-' || o.n, 'POST /v1/orders', sha256(convert_to('filled-' || o.n, 'UTF8')), 1, 'completed', 1,
       '/v1/orders/' || o.order_id, 201, 'application/json', '/v1/orders/' || o.order_id,
       convert_to(
           '{"id":"' || o.order_id || '","client_order_no":"filled-' || o.n || '","account_id":"' || o.account_id
           || '","currency":"CNY","amount":"1.00","captured_amount":"1.00","refunded_amount":"0.00","status":"paid",'
           || '"items":[],"payment":{"method":"balance"},"version":1,'
           || '"created_at":"2025-01-01T00:00:00.000000Z","updated_at":"2025-01-01T00:00:00.000000Z"}',
           'UTF8'
       ),
       d.created_at, d.created_at, timestamptz '2125-01-01 00:00:00Z'
FROM filled_orders o, demo d
ORDER BY o.n;

-- What the deposits and the orders add up to, as the service's roll-up would have left it.
INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
SELECT d.client_id, d.outside_id, pg_temp.id('200', 0), :accounts * 1000000000.00, 0 FROM demo d
UNION ALL
SELECT d.client_id, d.revenue_id, pg_temp.id('300', 0), 0, :orders * 1.00 FROM demo d;

COMMIT;
VACUUM (ANALYZE) accounts, movements, journal_entries, collecting_totals, orders, outbox_events, idempotency_records;
