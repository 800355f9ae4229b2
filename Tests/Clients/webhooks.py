"""Posts deliveries to the webhooks at the address that is given, signed by the libraries that senders use."""
import base64
import datetime
import json
import os
import sys
import time
import urllib.error
import urllib.request

import standardwebhooks
import stripe

address = sys.argv[1]
faults = []


def post(path, body, headers):
    request = urllib.request.Request(
        f"{address}/hooks/{path}", body.encode(), {"Content-Type": "application/json", **headers}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)["isNew"]
    except urllib.error.HTTPError as error:
        return error.code, None


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


def standard(body, identifier, key, shift=0):
    instant = datetime.datetime.now(tz=datetime.timezone.utc) + datetime.timedelta(seconds=shift)
    signature = standardwebhooks.Webhook(key).sign(identifier, instant, body)
    return {"webhook-id": identifier, "webhook-timestamp": str(int(instant.timestamp())), "webhook-signature": signature}


new, old = os.environ["NEW"], os.environ["OLD"]
body = json.dumps({"type": "user.created", "data": {"id": "1f81eb52", "name": "Zoë"}})
expect("standard", post("standard", body, standard(body, "m1", new)), (202, True))
expect("standard again", post("standard", body, standard(body, "m1", new)), (200, False))
expect("standard again, signed anew", post("standard", body, standard(body, "m1", new, 2)), (200, False))
expect("standard with the old key", post("standard", body, standard(body, "m2", old)), (202, True))
both = standard(body, "m3", old)
both["webhook-signature"] += " " + standard(body, "m3", base64.b64encode(b"another").decode())["webhook-signature"]
expect("standard with several signatures", post("standard", body, both), (202, True))
expect("standard with a foreign key", post("standard", body, standard(body, "m4", "whsec_AAAA")), (401, None))
expect("standard, stale", post("standard", body, standard(body, "m5", new, -310)), (401, None))
expect("standard, nearly stale", post("standard", body, standard(body, "m6", new, -290)), (202, True))
expect("standard, from the future", post("standard", body, standard(body, "m7", new, 310)), (401, None))
expect("standard, a byte changed", post("standard", body.replace("1f81", "1f82"), standard(body, "m8", new)), (401, None))
renamed = {**standard(body, "m9", new), "webhook-id": "m10"}
expect("standard under a new id", post("standard", body, renamed), (401, None))


def signed(body, key, shift=0):
    header = stripe.WebhookSignature.generate_signature_header(body, key, timestamp=int(time.time()) + shift)
    return {"Stripe-Signature": header}


new, old = os.environ["STRIPE_NEW"], os.environ["STRIPE_OLD"]
body = json.dumps({"id": "evt_1", "type": "invoice.paid"})
second = json.dumps({"id": "evt_2", "type": "invoice.paid"})
third = json.dumps({"id": "evt_3", "type": "invoice.paid"})
expect("stripe", post("stripe", body, signed(body, new)), (202, True))
expect("stripe again, signed anew", post("stripe", body, signed(body, new, 1)), (200, False))
expect("stripe with the old key", post("stripe", second, signed(second, old)), (202, True))
expect("stripe with a foreign key", post("stripe", third, signed(third, "whsec_guess")), (401, None))
expect("stripe, stale", post("stripe", third, signed(third, new, -310)), (401, None))
expect("stripe, from the future", post("stripe", third, signed(third, new, 310)), (401, None))
expect("stripe, a byte changed", post("stripe", third, signed(second, new)), (401, None))
expect("stripe, nearly stale", post("stripe", third, signed(third, new, -290)), (202, True))

print("\n".join(faults) or "every delivery was answered as it should be")
sys.exit(1 if faults else 0)
