//! The statements of a reconciliation.
//!
//! They read the tables of other crates and write none but a temporary one, which ends with its connection. Whoever
//! changes a table finds them here, in one file.
//!
//! The joins leave out, with `IS NOT TRUE`, what is certainly equal: of a million lines that agree, none comes back. What
//! differs, and in what, is for [`comparison`](crate::comparison) to say.

pub mod snapshot;

pub use snapshot::{Snapshot, Staging};

/// Where the statement is copied to. Ids are compared byte by byte, as in the books.
pub(crate) const MAKE_TABLE: &str = "
    CREATE TEMPORARY TABLE statement_lines (
        line BIGINT NOT NULL,
        subject TEXT NOT NULL,
        payment_id TEXT COLLATE \"C\" NOT NULL,
        refund_id TEXT COLLATE \"C\",
        payment_no TEXT COLLATE \"C\",
        currency TEXT,
        amount NUMERIC(28, 4),
        at TIMESTAMPTZ
    )";

pub(crate) const COPY: &str = "
    COPY statement_lines (line, subject, payment_id, refund_id, payment_no, currency, amount, at) FROM STDIN";

/// For each line, the first that says the same. Refunds without an id of their own are the same only where payment,
/// amount and time are: one payment may be given back in parts.
pub(crate) const RANK: &str = "
    CREATE TEMPORARY TABLE ranked_lines AS
    SELECT line, subject, payment_id, refund_id, payment_no, currency, amount, at, first_value(line) OVER same AS first_line
    FROM (
        SELECT line, subject, payment_id, refund_id, payment_no, currency, amount, at,
               subject = 'refund' AND refund_id IS NULL AS has_no_id
        FROM statement_lines
    ) l
    WINDOW same AS (
        PARTITION BY subject,
                     payment_id,
                     refund_id,
                     CASE WHEN has_no_id THEN currency END,
                     CASE WHEN has_no_id THEN amount END,
                     CASE WHEN has_no_id THEN at END,
                     CASE WHEN has_no_id AND (amount IS NULL OR at IS NULL) THEN line END
        ORDER BY line
    )";

/// What the planner goes by.
pub(crate) const ANALYZE: &str = "ANALYZE ranked_lines";

/// Payments: `$1` the client, `$2` the provider, `$3` to `$4` the span in which the statement should have them. A receipt
/// of nothing is one whose refund was told of before its payment.
pub(crate) const PAYMENTS: &str = "
    SELECT coalesce(s.payment_id, r.provider_payment_id) AS payment_id,
           NULL::text AS refund_id,
           s.line,
           s.first_line,
           s.payment_no,
           s.currency,
           s.amount,
           s.at,
           r.provider_payment_id IS NOT NULL AS is_booked,
           NULL::text AS booked_payment_id,
           r.payment_no AS booked_payment_no,
           r.currency AS booked_currency,
           r.received AS booked_amount,
           r.created_at AS booked_at
    FROM (
        SELECT line, first_line, payment_id, payment_no, currency, amount, at
        FROM ranked_lines
        WHERE subject = 'payment'
    ) s
    FULL JOIN (
        SELECT provider_payment_id, payment_no, currency, received, created_at
        FROM payment_receipts
        WHERE client_id = $1
          AND provider = $2
          AND (received > 0 OR unreadable IS NOT NULL)
    ) r ON r.provider_payment_id = s.payment_id
    WHERE (s.line IS NOT NULL OR (r.created_at >= $3 AND r.created_at < $4))
      AND (
          s.line = s.first_line
          AND s.currency = r.currency
          AND s.amount = r.received
          AND (s.payment_no IS NULL OR s.payment_no = r.payment_no)
      ) IS NOT TRUE
    ORDER BY s.line NULLS LAST, 1";

/// Refunds by their ids, likewise.
pub(crate) const REFUNDS: &str = "
    SELECT coalesce(s.payment_id, f.provider_payment_id) AS payment_id,
           coalesce(s.refund_id, f.provider_refund_id) AS refund_id,
           s.line,
           s.first_line,
           s.payment_no,
           s.currency,
           s.amount,
           s.at,
           f.provider_refund_id IS NOT NULL AS is_booked,
           f.provider_payment_id AS booked_payment_id,
           f.payment_no AS booked_payment_no,
           f.currency AS booked_currency,
           f.amount AS booked_amount,
           f.created_at AS booked_at
    FROM (
        SELECT line, first_line, payment_id, refund_id, payment_no, currency, amount, at
        FROM ranked_lines
        WHERE subject = 'refund'
    ) s
    FULL JOIN (
        SELECT f.provider_refund_id, f.provider_payment_id, r.payment_no, f.currency, f.amount, f.created_at
        FROM receipt_refunds f
        LEFT JOIN payment_receipts r ON r.client_id = f.client_id
                                    AND r.provider = f.provider
                                    AND r.provider_payment_id = f.provider_payment_id
        WHERE f.client_id = $1
          AND f.provider = $2
    ) f ON f.provider_refund_id = s.refund_id
    WHERE (s.line IS NOT NULL OR (f.created_at >= $3 AND f.created_at < $4))
      AND (
          s.line = s.first_line
          AND s.payment_id = f.provider_payment_id
          AND s.currency = f.currency
          AND s.amount = f.amount
          AND (s.payment_no IS NULL OR s.payment_no = f.payment_no)
      ) IS NOT TRUE
    ORDER BY s.line NULLS LAST, 1, 2";

/// Lines of refunds that repeat others, where refunds are compared by totals.
pub(crate) const REPEATED_REFUNDS: &str = "
    SELECT payment_id, refund_id, line, first_line, payment_no, currency, amount, at
    FROM ranked_lines
    WHERE subject = 'refund'
      AND line <> first_line
    ORDER BY line";

/// Refunds by the totals of their payments, likewise. What was booked is read from the journal, which alone tells when.
pub(crate) const REFUND_TOTALS: &str = "
    SELECT coalesce(s.payment_id, b.provider_payment_id) AS payment_id,
           s.line,
           s.payment_no,
           s.currency,
           s.in_several_currencies,
           s.amount,
           s.at,
           b.provider_payment_id IS NOT NULL AS is_booked,
           b.payment_no AS booked_payment_no,
           b.currency AS booked_currency,
           b.refund_told AS booked_ever,
           b.within_span AS booked_within_span,
           b.first_at AS booked_at
    FROM (
        SELECT payment_id,
               min(line) AS line,
               CASE WHEN count(payment_no) = count(*) AND min(payment_no) = max(payment_no) THEN min(payment_no)
               END AS payment_no,
               min(currency) AS currency,
               coalesce(min(currency) <> max(currency), FALSE) AS in_several_currencies,
               CASE WHEN count(amount) = count(*) AND min(currency) = max(currency) THEN sum(amount) END AS amount,
               min(at) AS at
        FROM ranked_lines
        WHERE subject = 'refund'
          AND line = first_line
        GROUP BY payment_id
    ) s
    FULL JOIN (
        SELECT r.provider_payment_id,
               r.payment_no,
               r.currency,
               r.refund_told,
               coalesce(j.amount, 0) AS within_span,
               j.first_at
        FROM payment_receipts r
        LEFT JOIN (
            SELECT receipt_id, sum(amount) AS amount, min(created_at) AS first_at
            FROM journal_entries
            WHERE client_id = $1
              AND kind IN ('payment_refunded', 'owed_refunded', 'unapplied_refunded')
              AND created_at >= $3
              AND created_at < $4
            GROUP BY receipt_id
        ) j ON j.receipt_id = r.receipt_id
        WHERE r.client_id = $1
          AND r.provider = $2
          AND r.refund_told > 0
    ) b ON b.provider_payment_id = s.payment_id
    WHERE (s.line IS NOT NULL OR b.within_span > 0)
      AND (
          s.currency = b.currency
          AND s.amount BETWEEN b.within_span AND b.refund_told
          AND (s.payment_no IS NULL OR s.payment_no = b.payment_no)
      ) IS NOT TRUE
    ORDER BY s.line NULLS LAST, 1";
