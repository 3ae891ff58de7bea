#!/bin/sh
# Signs a request for a server of version 1, and sends it by curl:
#   WAYPOST_SECRET=... sh curl.sh METHOD URL [FILE TYPE] [options of curl]
#   WAYPOST_SECRET=... sh curl.sh POST 'https://api.example/orders?rush=1' order.json application/json
# WAYPOST_KEY_ID names the client's key, where each client has one.
# Needs openssl. While openssl runs, the secret shows in the list of processes.
set -eu
LC_ALL=C
export LC_ALL

method=$1 url=${2%%#*}
shift 2
file=/dev/null
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  # The bytes of the file as they are: -d would drop its line ends.
  file=$1 type=$2
  shift 2
  set -- --data-binary "@$file" -H "Content-Type: $type" "$@"
fi

# The target: what stands behind the origin. --path-as-is and --globoff have curl send it as it is written.
target=${url#*://}
target=${target#"${target%%[/?]*}"}
case $target in /*) ;; *) target=/$target ;; esac
case $target in
  *[!]\[!$%\&\'\(\)*+,./0-9:\;=?@A-Z^_a-z\|~-]*)
    printf '%s\n' "curl.sh: $target can't be signed: percent-encode it, such as %20 for a space" >&2
    exit 2
    ;;
esac

# Milliseconds since the epoch. Whole seconds will do, and every date has them.
timestamp=$(date +%s)000
signature=$({ printf %s "$method$target"; cat "$file"; printf %s "$timestamp"; } | openssl dgst -sha256 -hmac "$WAYPOST_SECRET" -r | cut -d ' ' -f 1)

[ -z "${WAYPOST_KEY_ID:-}" ] || set -- -H "X-Key-Id: $WAYPOST_KEY_ID" "$@"
exec curl --globoff --path-as-is -X "$method" -H "Svc-Request-Sig: $signature" -H "X-Timestamp: $timestamp" "$@" "$url"
