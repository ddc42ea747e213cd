-- When a payment is asked about next at its provider, whose callback may never come.
--
-- The time stands beside the payment's version and is no part of it: a server takes a payment's turn by moving the time
-- on, and a callback that has read the row before still finds the version that it read. '-infinity' is a payment that
-- was never asked about, which costs the one that is paid in time no write at all; 'infinity' is one that never will be
-- again. A constant default is no rewrite of the table, and the version before this one goes on inserting without it.
ALTER TABLE payments ADD COLUMN next_poll_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity';

-- What was over long before this version is not asked about any more: it would stand before everybody whose turn it is.
UPDATE payments SET next_poll_at = 'infinity'
WHERE status IN ('expired', 'closed') AND expires_at < now() - interval '1 day';

-- What has expired or was closed here may have been paid there all the same.
CREATE INDEX payments_to_poll ON payments (client_id, provider, next_poll_at)
    WHERE status IN ('pending', 'expired', 'closed') AND next_poll_at < 'infinity';
