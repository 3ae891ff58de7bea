"""Signs what Python's httpx sends. Copy this file, then:

    auth = WaypostAuth(secret)  # version=2 for a server of version 2
    httpx.post("https://api.example/orders?rush=1", json={"item": 42}, auth=auth)
"""
import base64
import hashlib
import hmac
import re
import secrets
import time

import httpx


class WaypostAuth(httpx.Auth):
    requires_request_body = True  # has httpx read a stream first

    def __init__(self, secret: str, version: int = 1):
        self.secret, self.version = secret.encode(), version

    def auth_flow(self, request: httpx.Request):
        # raw_path is the target on the wire, not the URL as written.
        target = request.url.raw_path.decode()
        request.headers.update(sign(self.secret, self.version, request.method, target, request.headers, request.content))
        yield request


def sign(secret: bytes, version: int, method: str, target: str, headers, body: bytes) -> "dict[str, str]":
    if not re.fullmatch(r"/[!$-;=?-\[\]-_a-z|~]*", target):
        raise ValueError(f"{target!r} can't be signed: percent-encode it, as by urllib.parse.quote")
    if version == 1:
        timestamp = str(int(time.time() * 1000))
        signed = method.upper().encode() + target.encode() + body + timestamp.encode()
        return {"Svc-Request-Sig": hmac.new(secret, signed, hashlib.sha256).hexdigest(), "X-Timestamp": timestamp}
    path, _, query = target.partition("?")
    covered = {"@method": method.upper(), "@path": path, "@query": "?" + query}
    if body:
        covered["content-digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    covered.update((name, headers[name]) for name in ("content-type", "content-encoding") if name in headers)
    names = " ".join(f'"{name}"' for name in covered)
    parameters = f'({names});created={int(time.time())};nonce="{secrets.token_urlsafe(16)}"'
    base = "\n".join(f'"{name}": {value}' for name, value in {**covered, "@signature-params": parameters}.items())
    signature = base64.b64encode(hmac.new(secret, base.encode(), hashlib.sha256).digest()).decode()
    signed = {"Signature-Input": f"sig1={parameters}", "Signature": f"sig1=:{signature}:"}
    return {**signed, "Content-Digest": covered["content-digest"]} if body else signed
