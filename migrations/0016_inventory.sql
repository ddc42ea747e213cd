-- What can be ordered, at which price, and how many pieces there are of it; and what of it an order bought. A piece is
-- promised once: reserved and sold together never pass the total, whatever the code believes.
CREATE TABLE skus (
    client_id UUID NOT NULL,
    sku TEXT COLLATE "C" NOT NULL,
    sku_id UUID NOT NULL,
    currency TEXT NOT NULL,
    price NUMERIC(28, 4) NOT NULL,
    total BIGINT NOT NULL,
    reserved BIGINT NOT NULL,
    sold BIGINT NOT NULL,
    version BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT skus_pkey PRIMARY KEY (client_id, sku),
    CONSTRAINT skus_sku_length CHECK (char_length(sku) BETWEEN 1 AND 64),
    CONSTRAINT skus_price_positive CHECK (price > 0),
    CONSTRAINT skus_counts_not_negative CHECK (total >= 0 AND reserved >= 0 AND sold >= 0),
    CONSTRAINT skus_no_more_than_there_are CHECK (reserved + sold <= total),
    CONSTRAINT skus_version_positive CHECK (version > 0)
) WITH (fillfactor = 50);

-- For lists, newest first. The condition holds for every row, and keeps the index from whoever asks by name.
CREATE UNIQUE INDEX skus_id_unique ON skus (client_id, sku_id) WHERE sku_id IS NOT NULL;

-- The items of an order, at the price they had when it was placed. What a refund gave back is available again.
CREATE TABLE order_items (
    client_id UUID NOT NULL,
    order_id UUID NOT NULL,
    position INTEGER NOT NULL,
    sku TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL,
    price NUMERIC(28, 4) NOT NULL,
    given_back BIGINT NOT NULL,
    CONSTRAINT order_items_pkey PRIMARY KEY (client_id, order_id, sku),
    CONSTRAINT order_items_quantity_positive CHECK (quantity > 0),
    CONSTRAINT order_items_price_positive CHECK (price > 0),
    CONSTRAINT order_items_given_back_within_quantity CHECK (given_back BETWEEN 0 AND quantity)
) WITH (fillfactor = 90);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        GRANT SELECT, INSERT, UPDATE ON skus, order_items TO onefold_service;
    END IF;
END
$$;
