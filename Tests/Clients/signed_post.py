"""Verifies what `notify.webhook` sends with `sign: standard`, by the library that receivers use."""
import http.server
import os
import subprocess
import sys
import tempfile
import threading

import standardwebhooks

errand = sys.argv[1]
key, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
taken = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        taken.append((body, dict(self.headers)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/errand.yaml", "w") as file:
        file.write(
            "connections:\n  notify:\n"
            f"    webhookURL: http://127.0.0.1:{server.server_port}/hook\n"
            "    signingSecret: ${{ secrets.SIGNING }}\n")
    with open(f"{folder}/tell.yaml", "w") as file:
        file.write(
            "steps:\n"
            "  - { id: tell, uses: notify.webhook, with: { text: 'Zoë is done.', sign: standard } }\n"
            "  - { id: plain, uses: notify.webhook, with: { text: 'Unsigned.' } }\n")
    for _ in range(2):
        subprocess.run(
            [errand, "run", "tell.yaml"], cwd=folder, check=True, capture_output=True,
            env={**os.environ, "SIGNING": key})
server.shutdown()

assert len(taken) == 4, f"{len(taken)} messages came"
signed = [(body, headers) for body, headers in taken if "webhook-id" in headers]
assert len(signed) == 2, f"{len(signed)} are signed"
for body, headers in signed:
    assert standardwebhooks.Webhook(key).verify(body, headers) == {"text": "Zoë is done."}
    for wrong_body, wrong_key in [(body, other), (body.replace(b"done", b"gone"), key)]:
        try:
            standardwebhooks.Webhook(wrong_key).verify(wrong_body, headers)
        except standardwebhooks.WebhookVerificationError:
            continue
        raise AssertionError("a wrong signature was taken")
# Each run's message is another one.
assert signed[0][1]["webhook-id"] != signed[1][1]["webhook-id"]
print("2 signed messages were verified")
