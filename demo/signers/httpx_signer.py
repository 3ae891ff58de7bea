"""Signs what Python's httpx sends. Copy this file, then:

    auth = WaypostAuth(secret)  # version=2 for a server of version 2, key_id= where each client has a key
    httpx.post("https://api.example/orders?rush=1", json={"item": 42}, auth=auth)

For a server of version 2 with public keys, secret is an Ed25519PrivateKey of the package cryptography.
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

    def __init__(self, secret, version: int = 1, key_id: "str | None" = None):
        self.secret = secret.encode() if isinstance(secret, str) else secret
        self.version, self.key_id = version, key_id

    def auth_flow(self, request: httpx.Request):
        # raw_path is the target on the wire, not the URL as written.
        target = request.url.raw_path.decode()
        request.headers.update(sign(self.secret, self.version, self.key_id, request.method, target, request.headers, request.content))
        yield request


def sign(secret, version: int, key_id: "str | None", method: str, target: str, headers, body: bytes) -> "dict[str, str]":
    if not re.fullmatch(r"/[!$-;=?-\[\]-_a-z|~]*", target):
        raise ValueError(f"{target!r} can't be signed: percent-encode it, as by urllib.parse.quote")
    if version == 1:
        timestamp = str(int(time.time() * 1000))
        signed = method.upper().encode() + target.encode() + body + timestamp.encode()
        signature = {"Svc-Request-Sig": hmac.new(secret, signed, hashlib.sha256).hexdigest(), "X-Timestamp": timestamp}
        return {**signature, "X-Key-Id": key_id} if key_id else signature
    path, _, query = target.partition("?")
    covered = {"@method": method.upper(), "@path": path, "@query": "?" + query}
    if body:
        covered["content-digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    covered.update((name, headers[name]) for name in ("content-type", "content-encoding") if name in headers)
    names = " ".join(f'"{name}"' for name in covered)
    parameters = f'({names});created={int(time.time())};nonce="{secrets.token_urlsafe(16)}"' + (f';keyid="{key_id}"' if key_id else "")
    base = "\n".join(f'"{name}": {value}' for name, value in {**covered, "@signature-params": parameters}.items())
    signature = secret.sign(base.encode()) if hasattr(secret, "sign") else hmac.new(secret, base.encode(), hashlib.sha256).digest()
    signed = {"Signature-Input": f"sig1={parameters}", "Signature": f"sig1=:{base64.b64encode(signature).decode()}:"}
    return {**signed, "Content-Digest": covered["content-digest"]} if body else signed
