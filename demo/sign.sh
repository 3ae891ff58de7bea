#!/bin/sh
# Prints the two headers that sign a request, for `curl -H @-`:
#   sh demo/sign.sh METHOD URL [BODY]
# Needs openssl. While openssl runs, the secret shows in the list of processes:
# good enough for a demo, not for a shared machine.
set -eu

if [ $# -lt 2 ]; then
  echo 'Usage: sh demo/sign.sh METHOD URL [BODY]' >&2
  exit 2
fi

secret=${DEMO_SECRET:-$(cat "$(dirname "$0")/secret.txt")}
method=$(printf '%s' "$1" | tr '[:lower:]' '[:upper:]')
body=${3-}

# What goes over the wire: path and query, without scheme, host and fragment.
case $2 in /*) rest=$2 ;; *) rest=${2#*://} ;; esac
rest=${rest%%#*}
host=${rest%%[/?]*}
target=${rest#"$host"}
case $target in
  /*) ;;
  *) target=/$target ;;
esac

# Milliseconds since the epoch. Whole seconds will do, and every date has them.
timestamp=$(date +%s)000

signature=$(printf '%s' "$method$target$body$timestamp" | openssl dgst -sha256 -hmac "$secret" -r | cut -d ' ' -f 1)

echo "Svc-Request-Sig: $signature"
echo "X-Timestamp: $timestamp"
