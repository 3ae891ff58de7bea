"""Prints the two headers that sign a request, for `curl -H @-`:

    python3 demo/sign.py METHOD URL [BODY]
"""
import hashlib
import hmac
import os
import pathlib
import re
import sys
import time


def target_of(url: str) -> str:
    """What goes over the wire: path and query, without scheme, host and fragment."""
    rest = url.split("#", 1)[0]
    if not rest.startswith("/"):
        rest = re.sub("^(?:[^/?]*://)?[^/?]*", "", rest)
    return rest if rest.startswith("/") else "/" + rest


def sign(secret: str, method: str, url: str, body: str = "") -> "dict[str, str]":
    timestamp = str(int(time.time() * 1000))
    signed = method.upper() + target_of(url) + body + timestamp
    signature = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest()
    return {"Svc-Request-Sig": signature, "X-Timestamp": timestamp}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print("Usage: python3 demo/sign.py METHOD URL [BODY]", file=sys.stderr)
        sys.exit(2)
    shared = os.environ.get("DEMO_SECRET") or pathlib.Path(__file__).with_name("secret.txt").read_text().strip()
    for name, value in sign(shared, *sys.argv[1:4]).items():
        print(f"{name}: {value}")
