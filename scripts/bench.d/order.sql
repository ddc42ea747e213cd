-- One order, statement by statement, as a careful service without group commit would place it: what `onefold` writes for one
-- order, into the same tables, under the same constraints, in one transaction that flushes.
--
--   pgbench -M prepared -n -f order.sql -D accounts=10000 -D base=0 -D n=0 -D client=UUID -D revenue=UUID …
--
-- It is kinder to this side than to a real service in two things: no answer is put into words here (the body is put
-- together by the database from constants), and the parameters come from nowhere, without HTTP, parsing or hashing.
--
-- The version is checked as the desk checks it: optimistically at first, and whoever has lost once locks what it reads, so
-- that it cannot lose again. In the same transaction, which is kinder than a new one.
\set account random(1, :accounts)
\set n :n + 1
\set seq :base + :n * 1024 + :client_id
BEGIN;
-- Claim the name, and look for its record. The id is made here too, as time goes: later orders have larger ones.
SELECT pg_try_advisory_xact_lock(:seq::bigint) AS won, n.key, n.account_id, n.order_id, r.operation, r.fingerprint,
       r.fingerprint_version, r.status, r.attempts, r.resource, r.response_status, r.response_content_type,
       r.response_location, r.response_body
FROM (
    SELECT 'pgbench-' || :seq::bigint AS key,
           '01900000-0000-7100-8000-' || lpad(to_hex(:account::bigint), 12, '0') AS account_id,
           '01910000-0000-7000-8000-' || lpad(to_hex(:seq::bigint), 12, '0') AS order_id
) n
LEFT JOIN idempotency_records r ON r.client_id = :client::uuid AND r.key = n.key
\gset
-- Read the balance and its version.
SELECT owner, currency, status, available, held, version, created_at AS opened_at
FROM accounts
WHERE client_id = :client::uuid AND account_id = :account_id::uuid
\gset
-- Is the order's number taken?
SELECT order_id FROM orders WHERE client_id = :client::uuid AND client_order_no = :key::text;
-- Deduct, if the version is still the one that was read. (scripts/bench also measures this part further down: up to `deducted`.)
WITH moved AS (
    UPDATE accounts
    SET status = :status::text, available = :available::numeric - 1.00, held = :held::numeric, version = :version::bigint + 1
    WHERE client_id = :client::uuid AND account_id = :account_id::uuid AND version = :version::bigint
    RETURNING 1
)
SELECT count(*) AS moved FROM moved
\gset
\if :moved = 0
SELECT owner, currency, status, available, held, version, created_at AS opened_at
FROM accounts
WHERE client_id = :client::uuid AND account_id = :account_id::uuid
FOR NO KEY UPDATE
\gset
WITH moved AS (
    UPDATE accounts
    SET status = :status::text, available = :available::numeric - 1.00, held = :held::numeric, version = :version::bigint + 1
    WHERE client_id = :client::uuid AND account_id = :account_id::uuid AND version = :version::bigint
    RETURNING 1
)
-- Losing twice would end the run with an error, a division by zero.
SELECT 1 / count(*) AS moved FROM moved
\gset
\endif
-- deducted
INSERT INTO orders (
    client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
    payment_method, status, version, created_at, updated_at
)
VALUES (
    :client::uuid, :order_id::uuid, :key::text, :account_id::uuid, 'CNY', 1.00, 1.00, 0,
    'balance', 'paid', 1, now(), now()
);
INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
VALUES (:client::uuid, :revenue::uuid, :order_id::uuid, 0, 1.00);
INSERT INTO outbox_events (client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at)
VALUES (
    :client::uuid, :order_id::uuid, 'onefold.order.paid.v1', 'order', :order_id::uuid, 1,
    ('{"order_id":"' || :order_id::text || '","client_order_no":"' || :key::text || '","account_id":"' || :account_id::text
     || '","currency":"CNY","amount":"1.00","captured_amount":"1.00","refunded_amount":"0.00","status":"paid"}')::json,
    now()
);
INSERT INTO idempotency_records (
    client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
    response_status, response_content_type, response_location, response_body, first_seen_at, completed_at, expires_at
)
VALUES (
    :client::uuid, :key::text, 'POST /v1/orders', '\x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
    1, 'completed', 1, '/v1/orders/' || :order_id::text, 201, 'application/json', '/v1/orders/' || :order_id::text,
    convert_to(
        '{"id":"' || :order_id::text || '","client_order_no":"' || :key::text || '","account_id":"' || :account_id::text
        || '","currency":"CNY","amount":"1.00","captured_amount":"1.00","refunded_amount":"0.00","status":"paid",'
        || '"items":[],"payment":{"method":"balance"},"version":1,'
        || '"created_at":"2026-01-31T09:30:00.123456Z","updated_at":"2026-01-31T09:30:00.123456Z"}',
        'UTF8'
    ),
    now(), now(), now() + interval '72 hours'
);
-- What the account had afterwards, so after the deduction whichever way.
INSERT INTO journal_entries (
    client_id, entry_id, kind, amount, currency, debit_account_id, debit_version, debit_available_after,
    debit_held_after, credit_account_id, order_id, created_at, idempotency_key
)
VALUES (
    :client::uuid, :order_id::uuid, 'order_payment', 1.00, 'CNY', :account_id::uuid, :version::bigint + 1,
    :available::numeric - 1.00, :held::numeric, :revenue::uuid, :order_id::uuid, now(), :key::text
);
COMMIT;
