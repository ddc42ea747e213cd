-- One buyer of a flash sale, statement by statement: order.sql with one piece of one sku, or a refusal with its record if
-- there is none.
--
--   pgbench -M prepared -n -f stock.sql -D by_piece=0 -D sku=SALE -D accounts=1000 -D base=0 -D n=0 -D client=UUID -D revenue=UUID …
--
-- by_piece=0 locks the sku's row (`FOR UPDATE`), by_piece=1 takes a row of stock_pieces (stock-pieces.sql) that nobody has
-- locked (`FOR UPDATE SKIP LOCKED`). They differ in nothing else.
--
-- It is kinder to this side than to a real service as order.sql is, and in a third thing: whoever sees without a lock that
-- the sku is sold out is refused without ever waiting for one.
\set account random(1, :accounts)
\set n :n + 1
\set seq :base + :n * 1024 + :client_id
BEGIN;
-- Claim the name, and look for its record.
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
-- Is the order's number taken?
SELECT order_id FROM orders WHERE client_id = :client::uuid AND client_order_no = :key::text;
-- The price, and a piece: in one of the two ways.
\if :by_piece
SELECT price FROM skus WHERE client_id = :client::uuid AND sku = :sku::text
\gset
SELECT coalesce((
    SELECT piece
    FROM stock_pieces
    WHERE client_id = :client::uuid AND sku = :sku::text AND order_id IS NULL
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), 0) AS piece
\gset
SELECT (:piece::bigint > 0)::int AS has_piece
\gset
\else
SELECT price, (reserved + sold < total)::int AS seen_left FROM skus WHERE client_id = :client::uuid AND sku = :sku::text
\gset
\set has_piece 0
\if :seen_left
SELECT (reserved + sold < total)::int AS has_piece
FROM skus
WHERE client_id = :client::uuid AND sku = :sku::text
FOR UPDATE
\gset
\endif
\endif
\if :has_piece
\if :by_piece
UPDATE stock_pieces SET order_id = :order_id::uuid WHERE client_id = :client::uuid AND sku = :sku::text AND piece = :piece::bigint;
\else
UPDATE skus
SET sold = sold + 1, version = version + 1, updated_at = now()
WHERE client_id = :client::uuid AND sku = :sku::text;
\endif
-- Deduct. The balance is read under the lock, a round trip less than finding out whether the version has moved.
SELECT status, available, held, version
FROM accounts
WHERE client_id = :client::uuid AND account_id = :account_id::uuid
FOR NO KEY UPDATE
\gset
UPDATE accounts
SET status = :status::text, available = :available::numeric - 1.00, held = :held::numeric, version = :version::bigint + 1
WHERE client_id = :client::uuid AND account_id = :account_id::uuid AND version = :version::bigint;
INSERT INTO orders (
    client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
    payment_method, status, version, created_at, updated_at
)
VALUES (
    :client::uuid, :order_id::uuid, :key::text, :account_id::uuid, 'CNY', 1.00, 1.00, 0,
    'balance', 'paid', 1, now(), now()
);
INSERT INTO order_items (client_id, order_id, position, sku, quantity, price, given_back)
VALUES (:client::uuid, :order_id::uuid, 0, :sku::text, 1, :price::numeric, 0);
INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
VALUES (:client::uuid, :revenue::uuid, :order_id::uuid, 0, 1.00);
INSERT INTO outbox_events (client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at)
VALUES (
    :client::uuid, :order_id::uuid, 'onefold.order.paid.v1', 'order', :order_id::uuid, 1,
    ('{"order_id":"' || :order_id::text || '","client_order_no":"' || :key::text || '","account_id":"' || :account_id::text
     || '","currency":"CNY","amount":"1.00","captured_amount":"1.00","refunded_amount":"0.00","status":"paid"}')::json,
    now()
);
INSERT INTO journal_entries (
    client_id, entry_id, kind, amount, currency, debit_account_id, debit_version, debit_available_after,
    debit_held_after, credit_account_id, order_id, created_at, idempotency_key
)
VALUES (
    :client::uuid, :order_id::uuid, 'order_payment', 1.00, 'CNY', :account_id::uuid, :version::bigint + 1,
    :available::numeric - 1.00, :held::numeric, :revenue::uuid, :order_id::uuid, now(), :key::text
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
        || '"items":[{"sku":"' || :sku::text || '","quantity":1}],"payment":{"method":"balance"},"version":1,'
        || '"created_at":"2026-01-31T09:30:00.123456Z","updated_at":"2026-01-31T09:30:00.123456Z"}',
        'UTF8'
    ),
    now(), clock_timestamp(), now() + interval '72 hours'
);
\else
INSERT INTO idempotency_records (
    client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
    response_status, response_content_type, response_location, response_body, first_seen_at, completed_at, expires_at
)
VALUES (
    :client::uuid, :key::text, 'POST /v1/orders', '\x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
    1, 'failed', 1, NULL, 409, 'application/problem+json', NULL,
    convert_to(
        '{"type":"/problems/out-of-stock","title":"Out of stock","status":409,"retryable": false,"sku":"' || :sku::text
        || '","available_quantity":0,"requested_quantity":1}',
        'UTF8'
    ),
    now(), clock_timestamp(), now() + interval '72 hours'
);
\endif
COMMIT;
