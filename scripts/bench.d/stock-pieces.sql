-- A sale's sku, and a row for each of its pieces, as stock.sql sells them:
--
--   psql -v client=UUID -v sku=SALE -v pieces=1000 -f stock-pieces.sql DATABASE
--
-- The index holds those that nobody has, so that finding one does not mean passing all that are sold.
CREATE TABLE IF NOT EXISTS stock_pieces (
    client_id UUID NOT NULL,
    sku TEXT COLLATE "C" NOT NULL,
    piece BIGINT NOT NULL,
    order_id UUID,
    CONSTRAINT stock_pieces_pkey PRIMARY KEY (client_id, sku, piece)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS stock_pieces_free ON stock_pieces (client_id, sku, piece) WHERE order_id IS NULL;
GRANT SELECT, UPDATE ON stock_pieces TO onefold_service;
INSERT INTO skus (client_id, sku, sku_id, currency, price, total, reserved, sold, version, created_at, updated_at)
VALUES (:'client', :'sku', gen_random_uuid(), 'CNY', 1.00, :pieces, 0, 0, 1, now(), now());
INSERT INTO stock_pieces (client_id, sku, piece)
SELECT :'client', :'sku', piece FROM generate_series(1, :pieces) AS piece;
VACUUM (ANALYZE) skus, stock_pieces;
