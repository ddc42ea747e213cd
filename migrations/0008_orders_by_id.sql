-- Orders are loaded by id, so the index on their numbers is kept from whoever does not ask about a number.
--
-- A planner that knows no statistics yet, or knows of many clients with few orders each, finds the client alone as good
-- a key as (client_id, order_id), in whichever index it stands; and on that plan it would read all of a client's
-- orders to find one. The condition holds for every row, and is implied by asking for a number.
ALTER TABLE orders DROP CONSTRAINT orders_client_order_no_unique;
CREATE UNIQUE INDEX orders_client_order_no_unique
    ON orders (client_id, client_order_no) WHERE client_order_no IS NOT NULL;
