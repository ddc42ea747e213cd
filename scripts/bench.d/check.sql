-- After a run of pgbench: how many orders it has left, and whether each has its journal row, its record, its event, its part
-- of the revenue, and its deduction. One line: the number of orders, and `t` if all agrees.
SELECT o.count,
       o.count = (SELECT count(*) FROM journal_entries WHERE entry_id >= '01910000-0000-7000-8000-000000000000' AND entry_id < '01910000-0000-7000-9000-000000000000')
   AND o.count = (SELECT count(*) FROM idempotency_records WHERE starts_with(key, 'pgbench-'))
   AND o.count = (SELECT count(*) FROM outbox_events WHERE event_id >= '01910000-0000-7000-8000-000000000000' AND event_id < '01910000-0000-7000-9000-000000000000')
   AND o.count = (SELECT count(*) FROM collecting_totals WHERE total_id >= '01910000-0000-7000-8000-000000000000' AND total_id < '01910000-0000-7000-9000-000000000000')
   AND NOT EXISTS (
           SELECT
           FROM accounts a
           WHERE starts_with(a.owner, 'filled-')
             AND (a.available, a.version) IS DISTINCT FROM (
                 1000000000.00 - (a.version - 1),
                 (SELECT coalesce(max(e.debit_version), 1) FROM journal_entries e
                  WHERE e.client_id = a.client_id AND e.debit_account_id = a.account_id AND e.debit_version IS NOT NULL)
             )
       )
   AND (SELECT sum(1000000000.00 - available) FROM accounts WHERE starts_with(owner, 'filled-'))
       = (SELECT count(*) FROM orders WHERE starts_with(client_order_no, 'filled-') OR starts_with(client_order_no, 'pgbench-'))
FROM (SELECT count(*) FROM orders WHERE starts_with(client_order_no, 'pgbench-')) o;
