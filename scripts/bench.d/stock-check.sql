-- After a sale by stock.sql: how many orders and how many refusals of it there are, how many of each a second, and `t` if the
-- stock says the same, by the sku's row or by the rows of its pieces. Orders are timed from the first transaction's beginning
-- to the last order's record, refusals from the first refused one's beginning to the last refusal's.
--
--   psql -v base=0 -v sku=SALE -f stock-check.sql DATABASE
WITH sale AS (
    SELECT response_status AS status, count(*) AS answers,
           (count(*) / extract(epoch FROM max(completed_at) - min(first_seen_at)))::bigint AS per_second
    FROM idempotency_records
    -- Other keys have no number there: it must not be looked for in them.
    WHERE CASE WHEN starts_with(key, 'pgbench-') THEN substr(key, 9)::bigint BETWEEN :base AND :base + 1099511627775 END
    GROUP BY response_status
)
SELECT coalesce(sum(answers) FILTER (WHERE status = 201), 0), coalesce(sum(answers) FILTER (WHERE status = 409), 0),
       coalesce(sum(per_second) FILTER (WHERE status = 201), 0), coalesce(sum(per_second) FILTER (WHERE status = 409), 0),
       coalesce(sum(answers) FILTER (WHERE status = 201), 0) = (SELECT count(*) FROM order_items WHERE sku = :'sku')
   AND coalesce(sum(answers) FILTER (WHERE status = 201), 0) = (
           SELECT sold + (SELECT count(*) FROM stock_pieces p WHERE p.sku = s.sku AND p.order_id IS NOT NULL)
           FROM skus s
           WHERE s.sku = :'sku'
       )
FROM sale;
