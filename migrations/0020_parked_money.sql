-- The sweeper asks about parked money. A receipt under which nothing was received, as one that a stuck refund has made,
-- has nothing to ask about, and would stand in its way at each round.
DROP INDEX payment_receipts_parked;
CREATE INDEX payment_receipts_parked ON payment_receipts (client_id, created_at)
    WHERE state = 'unmatched' AND open_alert_id IS NULL AND (received > 0 OR refund_told > 0);

-- What of a statement cannot be read is asked about too.
ALTER TABLE payment_alerts DROP CONSTRAINT payment_alerts_kind_known;
ALTER TABLE payment_alerts ADD CONSTRAINT payment_alerts_kind_known CHECK (kind IN (
    'mismatched', 'late', 'excess', 'unmatched', 'delivery_conflict', 'refund_mismatched', 'refund_attention',
    'unreadable_line', 'duplicate_line', 'missing_here', 'missing_there', 'currency_differs', 'amount_differs',
    'payment_no_differs'
)) NOT VALID;
