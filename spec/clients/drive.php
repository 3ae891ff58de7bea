<?php
require __DIR__ . '/../../demo/signers/signer.php';

while (($line = fgets(STDIN)) !== false) {
    [$server, $method, $url, $type, $encoding, $chunked, $body] = explode("\t", rtrim($line, "\n"));
    $headers = array_filter(['Content-Type' => $type, 'Content-Encoding' => $encoding, 'Transfer-Encoding' => $chunked]);
    try {
        $curl = signed_curl(getenv($server === '2k' ? 'WAYPOST_KEY' : 'WAYPOST_SECRET'), $method, $url, base64_decode($body), $headers, (int) $server, str_ends_with($server, 'k') ? 'ann' : null);
        echo curl_exec($curl) === false ? 'error ' . curl_error($curl) : curl_getinfo($curl, CURLINFO_RESPONSE_CODE), "\n";
    } catch (InvalidArgumentException $error) {
        echo 'error ', $error->getMessage(), "\n";
    }
}
