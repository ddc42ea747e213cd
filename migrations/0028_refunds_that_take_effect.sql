-- A refund at a provider has its effect on its order when the provider has given the money back, and not when it is asked
-- for: until then the payer may get neither, and a piece that is back in stock may be sold to somebody else.
--
-- Whether the items of a refund are back in stock is said by the row of what was asked for. The default is what was done
-- before, and is done by servers of the version before this migration: they give items back with the asking.
ALTER TABLE asked_refunds ADD COLUMN items_back BOOLEAN NOT NULL DEFAULT TRUE;

-- Where a provider tells the total of a payment's refunds, a total alone does not say whose refunds it is of. What it had
-- told of when a refund was asked for is not that refund's; of those that were asked for before this it is not known.
ALTER TABLE asked_refunds ADD COLUMN told_before NUMERIC(28, 4) NOT NULL DEFAULT 0;

-- A version of an order that a refund has made says which: a refund is asked for, and done or failed, in versions of its
-- own. It is null in versions that were made before, or by something else.
ALTER TABLE order_versions ADD COLUMN refund_id UUID;
