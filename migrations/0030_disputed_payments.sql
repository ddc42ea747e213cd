-- A payment that the payer's bank disputes is asked about.
ALTER TABLE payment_alerts DROP CONSTRAINT payment_alerts_kind_known;
ALTER TABLE payment_alerts ADD CONSTRAINT payment_alerts_kind_known CHECK (kind IN (
    'mismatched', 'late', 'excess', 'unmatched', 'delivery_conflict', 'refund_mismatched', 'refund_attention',
    'disputed', 'unreadable_line', 'duplicate_line', 'missing_here', 'missing_there', 'currency_differs',
    'amount_differs', 'payment_no_differs'
)) NOT VALID;
