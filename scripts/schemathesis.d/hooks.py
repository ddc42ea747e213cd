"""What the OpenAPI document cannot say, for most of the data that fits it.

Of data that merely fits, nearly all would stop at the first check: no account has that id, no currency that code, and the
key was used before, or an alias of it says something else. So most requests get the ids of the demo data, a currency that
there is, a small amount and a key of their own. What does not fit stays as it was made, since it has to be refused.
"""

import random
import re
import uuid

import schemathesis

ALICE, BOB, ALICE_JPY = (f"01900000-0000-7000-8000-00000000000{digit}" for digit in "abc")
ACCOUNTS = [ALICE, ALICE, BOB, ALICE_JPY]
CURRENCIES = ["CNY", "CNY", "CNY", "JPY", "USD"]

KEY = "Idempotency-Key"
ALIASES = ["X-Idempotency-Key", "X-Idempotent-Key"]

# As the document has them; of keys the bare spelling.
FITTING_KEY = re.compile(r"[!#-+\--\[\]-~]{1,255}")
FITTING_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
FITTING_CURRENCY = re.compile(r"[A-Z]{3}")
FITTING_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?")
FITTING_NAME = re.compile(r".{1,64}", re.DOTALL)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.method.upper() == "POST":
        give_a_key(case.headers)
    if "/accounts/" in case.path and fits(FITTING_ID, case.path_parameters, "id") and random.random() < 0.5:
        case.path_parameters["id"] = random.choice(ACCOUNTS)
    if isinstance(case.body, dict) and mostly():
        give_meaning(case.body)


def give_a_key(headers):
    """Without an alias, which would either contradict the key or, where the key is left out, stand for it."""
    if headers is None:
        return
    for alias in ALIASES:
        if KEY not in headers or (fits(FITTING_KEY, headers, alias) and mostly()):
            headers.pop(alias, None)
    if fits(FITTING_KEY, headers, KEY) and mostly():
        headers[KEY] = str(uuid.uuid4())


def give_meaning(body):
    for field in ("account_id", "from_account_id", "to_account_id"):
        if fits(FITTING_ID, body, field):
            body[field] = random.choice(ACCOUNTS)
    if fits(FITTING_CURRENCY, body, "currency"):
        body["currency"] = random.choice(CURRENCIES)
    if fits(FITTING_AMOUNT, body, "amount"):
        body["amount"] = str(random.randint(1, 99))
    # Not every character that fits can be printed, and what is unique must be new.
    for field in ("reference", "client_order_no", "owner"):
        if fits(FITTING_NAME, body, field):
            body[field] = f"{field}-{random.randint(1, 1_000_000)}"


def fits(pattern, mapping, name):
    value = mapping.get(name) if mapping else None
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def mostly():
    return random.random() < 0.8
