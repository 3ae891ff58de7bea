"""Prints the two headers that sign a request, for `curl -H @-`:

    python3 demo/sign.py METHOD URL [BODY]
"""
import hashlib
import hmac
import os
import pathlib
import sys
import time
from urllib.parse import urlsplit


def sign(secret: str, method: str, url: str, body: str = "") -> "dict[str, str]":
    parts = urlsplit(url)
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    timestamp = str(int(time.time() * 1000))
    signed = (method.upper() + target + body + timestamp).encode()
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return {"Svc-Request-Sig": signature, "X-Timestamp": timestamp}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Usage: python3 demo/sign.py METHOD URL [BODY]")
    shared = os.environ.get("DEMO_SECRET") or pathlib.Path(__file__).with_name("secret.txt").read_text().strip()
    for name, value in sign(shared, *sys.argv[1:4]).items():
        print(f"{name}: {value}")
