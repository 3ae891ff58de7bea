"""Sends each line of standard input by `python3 drive.py requests|httpx`, and prints what came of it."""
import base64
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "demo/signers"))
SECRET = os.environ["WAYPOST_SECRET"]


def signer_of(server, auth):
    """Servers are of version 1 or 2, and those with k know the key "ann"."""
    if server == "2k":
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return auth(load_pem_private_key(os.environ["WAYPOST_KEY"].encode(), None), 2, "ann")
    return auth(SECRET, int(server[0]), "ann" if "k" in server else None)


def send(server, method, url, kind, encoding, chunked, body):
    headers = {name: value for name, value in (("Content-Type", kind), ("Content-Encoding", encoding)) if value}
    data = base64.b64decode(body) or None
    if chunked:
        data = iter([data[:3], data[3:]])
    if sys.argv[1] == "requests":
        import requests
        from requests_signer import WaypostAuth

        return requests.request(method, url, headers=headers, data=data, auth=signer_of(server, WaypostAuth)).status_code
    import httpx
    from httpx_signer import WaypostAuth

    return httpx.request(method, url, headers=headers, content=data, auth=signer_of(server, WaypostAuth)).status_code


for line in sys.stdin.buffer.read().decode().splitlines():
    try:
        print(send(*line.split("\t")), flush=True)
    except Exception as error:
        print("error", type(error).__name__, str(error).replace("\n", " "), flush=True)
