<?php
// Signs what PHP's curl sends. Copy this file, then:
//
//   $curl = signed_curl($secret, 'POST', 'https://api.example/orders?rush=1', '{"item":42}', ['Content-Type' => 'application/json']);
//   curl_exec($curl);
//
// Where each client has a key, $keyId names it. For a server of version 2 with public keys, $secret is the
// text of the private key's file (Ed25519, PKCS #8 in PEM).

declare(strict_types=1);

/** A handle that is ready for curl_exec. Of a server of version 2 the version is 2. */
function signed_curl(string $secret, string $method, string $url, string $body = '', array $headers = [], int $version = 1, ?string $keyId = null): CurlHandle
{
    // The target: what stands behind the origin. CURLOPT_PATH_AS_IS has curl send it as it is written.
    $target = preg_replace('~^[a-z]+://[^/?#]*|#.*~is', '', $url);
    if (!str_starts_with($target, '/')) {
        $target = "/$target";
    }
    if (!preg_match('~^/[!$-;=?-\[\]-_a-z|\~]*$~D', $target)) {
        throw new InvalidArgumentException("$target can't be signed: percent-encode it, as by rawurlencode");
    }
    if ($body !== '') {
        // Without a type curl would add one of its own.
        $headers = array_change_key_case($headers) + ['content-type' => 'application/octet-stream'];
    }
    $headers += $version === 1 ? signature($secret, $method, $target, $body, $keyId) : message_signature($secret, $method, $target, $body, $headers, $keyId);
    $curl = curl_init($url);
    curl_setopt_array($curl, [
        CURLOPT_PATH_AS_IS => true,
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_NOBODY => $method === 'HEAD',
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => array_map(fn ($name, $value) => "$name: $value", array_keys($headers), $headers),
    ]);
    if ($body !== '') {
        curl_setopt($curl, CURLOPT_POSTFIELDS, $body);
    }
    return $curl;
}

function signature(string $secret, string $method, string $target, string $body, ?string $keyId): array
{
    $timestamp = (string) (int) (microtime(true) * 1000);
    $signature = hash_hmac('sha256', $method . $target . $body . $timestamp, $secret);
    return ['Svc-Request-Sig' => $signature, 'X-Timestamp' => $timestamp] + ($keyId === null ? [] : ['X-Key-Id' => $keyId]);
}

/** Signs by RFC 9421. @param array $headers by names in lower case */
function message_signature(string $secret, string $method, string $target, string $body, array $headers, ?string $keyId): array
{
    [$path, $query] = explode('?', $target, 2) + [1 => ''];
    $covered = ['@method' => $method, '@path' => $path, '@query' => "?$query"];
    $digest = $body === '' ? [] : ['content-digest' => 'sha-256=:' . base64_encode(hash('sha256', $body, true)) . ':'];
    $covered += $digest + array_intersect_key($headers, ['content-type' => 1, 'content-encoding' => 1]);
    $names = implode(' ', array_map(fn ($name) => "\"$name\"", array_keys($covered)));
    $parameters = "($names);created=" . time() . ';nonce="' . bin2hex(random_bytes(16)) . '"' . ($keyId === null ? '' : ";keyid=\"$keyId\"");
    $base = '';
    foreach ($covered as $name => $value) {
        $base .= "\"$name\": $value\n";
    }
    $signature = base64_encode(sign_base("$base\"@signature-params\": $parameters", $secret));
    return $digest + ['Signature-Input' => "sig1=$parameters", 'Signature' => "sig1=:$signature:"];
}

function sign_base(string $base, string $secret): string
{
    if (!preg_match('~^-----BEGIN PRIVATE KEY-----(.*)-----END~s', $secret, $pem)) {
        return hash_hmac('sha256', $base, $secret, true);
    }
    $key = base64_decode($pem[1]);
    if (strlen($key) !== 48) {
        throw new InvalidArgumentException('the private key is not of Ed25519');
    }
    // The last 32 bytes are the seed (RFC 8410).
    return sodium_crypto_sign_detached($base, sodium_crypto_sign_secretkey(sodium_crypto_sign_seed_keypair(substr($key, -32))));
}
