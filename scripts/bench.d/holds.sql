-- Adds holds that are due to a database that fill.sql has filled, as the service would have left them:
--
--   psql -v accounts=10000 -v holds=20000 -v round=1 -f holds.sql DATABASE
--
-- Each freezes 1.00 of one of the filled accounts, which take turns, and has its journal row, its event and its record. They have run
-- out a minute ago, and nobody has noticed. Each round's ids and references are its own; no account may have been
-- touched by anybody else since.
\set ON_ERROR_STOP on
SET jit = off;
BEGIN;

CREATE TEMPORARY TABLE due AS
    SELECT n, ('01900000-0000-7' || (400 + :round) || '-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS hold_id,
           ('01900000-0000-7100-8000-' || lpad(to_hex((n - 1) % :accounts + 1), 12, '0'))::uuid AS account_id,
           (n - 1) / :accounts + 1 AS place, now() - interval '1 hour' AS placed_at
    FROM generate_series(1, :holds::bigint) AS n;

INSERT INTO holds (
    client_id, hold_id, account_id, purpose, reference, currency, amount, captured, status, expires_at, version,
    created_at, updated_at
)
SELECT a.client_id, d.hold_id, d.account_id, 'client', 'filled-' || :round || '-' || d.n, 'CNY', 1.00, 0, 'active',
       now() - interval '1 minute', 1, d.placed_at, d.placed_at
FROM due d
JOIN accounts a ON a.account_id = d.account_id
ORDER BY d.n;

INSERT INTO journal_entries (
    client_id, entry_id, kind, amount, currency, debit_account_id, debit_version, debit_available_after,
    debit_held_after, credit_account_id, hold_id, reference, created_at, idempotency_key
)
SELECT a.client_id, d.hold_id, 'hold', 1.00, 'CNY', d.account_id, a.version + d.place, a.available - d.place,
       a.held + d.place, d.account_id, d.hold_id, 'filled-' || :round || '-' || d.n, d.placed_at,
       'held-' || :round || '-' || d.n
FROM due d
JOIN accounts a ON a.account_id = d.account_id
ORDER BY d.n;

INSERT INTO outbox_events (
    client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
)
SELECT a.client_id, d.hold_id, 'onefold.hold.placed.v1', 'hold', d.hold_id, 1,
       json_build_object('hold_id', d.hold_id, 'account_id', d.account_id, 'currency', 'CNY', 'amount', '1.00',
                         'captured_amount', '0.00', 'status', 'active'),
       d.placed_at
FROM due d
JOIN accounts a ON a.account_id = d.account_id
ORDER BY d.n;

-- They expire long after any run, so that the service's cleaner has nothing to do in it.
INSERT INTO idempotency_records (
    client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
    response_status, response_content_type, response_location, response_body, first_seen_at, completed_at, expires_at
)
SELECT a.client_id, 'held-' || :round || '-' || d.n, 'POST /v1/accounts/{id}/holds',
       sha256(convert_to('held-' || :round || '-' || d.n, 'UTF8')), 1, 'completed', 1, '/v1/holds/' || d.hold_id, 201,
       'application/json', '/v1/holds/' || d.hold_id,
       convert_to(
           '{"id":"' || d.hold_id || '","account_id":"' || d.account_id || '","currency":"CNY","amount":"1.00",'
           || '"captured_amount":"0.00","held_amount":"1.00","status":"active","reference":"filled-' || :round || '-'
           || d.n || '","expires_at":"' || to_char((now() - interval '1 minute') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
           || '","version":1,"created_at":"' || to_char(d.placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
           || '","updated_at":"' || to_char(d.placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"}',
           'UTF8'
       ),
       d.placed_at, d.placed_at, timestamptz '2125-01-01 00:00:00Z'
FROM due d
JOIN accounts a ON a.account_id = d.account_id
ORDER BY d.n;

UPDATE accounts a
SET available = a.available - h.count, held = a.held + h.count, version = a.version + h.count
FROM (SELECT account_id, count(*) FROM due GROUP BY account_id) h
WHERE a.account_id = h.account_id;

COMMIT;
VACUUM (ANALYZE) accounts, holds, journal_entries, outbox_events, idempotency_records;
