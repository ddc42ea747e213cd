"""What the OpenAPI document cannot say, for most of the data that fits it.

Of data that merely fits, nearly all would stop at the first check: no account has that id, no currency that code, and a key
of random characters is malformed or was used before. So most of it is given the ids of the demo data, a currency that
there is, a small amount and a key of its own. The rest stays as it was generated, and so does all data that is made not to
fit.
"""

import random
import re
import uuid

import schemathesis

ALICE, BOB, ALICE_JPY = (f"01900000-0000-7000-8000-00000000000{digit}" for digit in "abc")
ACCOUNTS = [ALICE, ALICE, BOB, ALICE_JPY]
CURRENCIES = ["CNY", "CNY", "CNY", "JPY", "USD"]
UUID = re.compile(r"[0-9a-f-]{36}", re.IGNORECASE)


def mostly():
    return random.random() < 0.8


@schemathesis.hook
def map_headers(context, headers):
    if headers and "Idempotency-Key" in headers and mostly():
        headers["Idempotency-Key"] = str(uuid.uuid4())
        # Aliases of another value would be refused.
        headers.pop("X-Idempotency-Key", None)
        headers.pop("X-Idempotent-Key", None)
    return headers


@schemathesis.hook
def before_call(context, case, kwargs):
    # An alias stands for the header that is left out to see whether it is missed, which no document can say.
    if case.headers is not None and "Idempotency-Key" not in case.headers:
        case.headers.pop("X-Idempotency-Key", None)
        case.headers.pop("X-Idempotent-Key", None)


@schemathesis.hook
def map_path_parameters(context, parameters):
    if parameters and is_uuid(parameters.get("id")) and "/accounts/" in context.operation.path and mostly():
        parameters["id"] = random.choice(ACCOUNTS)
    return parameters


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict) or not mostly():
        return body
    if isinstance(body.get("currency"), str) and re.fullmatch("[A-Z]{3}", body["currency"]):
        body["currency"] = random.choice(CURRENCIES)
    if isinstance(body.get("amount"), str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", body["amount"]):
        body["amount"] = str(random.randint(1, 99))
    for field in ("account_id", "from_account_id", "to_account_id"):
        if is_uuid(body.get(field)):
            body[field] = random.choice(ACCOUNTS)
    for field in ("reference", "client_order_no", "owner"):
        # Not every character that a text may have can be printed, and what is unique must be new.
        if isinstance(body.get(field), str) and 1 <= len(body[field]) <= 64:
            body[field] = f"{field}-{random.randint(1, 1_000_000)}"
    return body


def is_uuid(value):
    return isinstance(value, str) and UUID.fullmatch(value) is not None
