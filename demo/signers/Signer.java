import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.Signature;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs what java.net.http sends. Copy this file, then:
 *
 * <pre>
 * var signer = new Signer(secret, 1); // 2 for a server of version 2
 * var request = signer.request("POST", "https://api.example/orders?rush=1", json.getBytes(UTF_8), Map.of("Content-Type", "application/json"));
 * HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
 * </pre>
 *
 * Where each client has a key: {@code new Signer(secret, 1, keyId)}, and for a server of version 2 with public
 * keys {@code new Signer(privateKey, keyId)}, of Ed25519.
 */
public final class Signer {
  private final byte[] secret;
  private final PrivateKey key;
  private final int version;
  private final String keyId;

  public Signer(String secret, int version) {
    this(secret, version, null);
  }

  public Signer(String secret, int version, String keyId) {
    this(bytes(secret), null, version, keyId);
  }

  public Signer(PrivateKey key, String keyId) {
    this(null, key, 2, keyId);
  }

  private Signer(byte[] secret, PrivateKey key, int version, String keyId) {
    this.secret = secret;
    this.key = key;
    this.version = version;
    this.keyId = keyId;
  }

  /** A signed request. The body may be sent by another publisher of the same bytes. */
  public HttpRequest.Builder request(String method, String url, byte[] body, Map<String, String> headers) throws GeneralSecurityException {
    URI uri;
    try {
      uri = URI.create(URI.create(url).toASCIIString());
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException("percent-encode the URL, as by URLEncoder: " + error.getMessage(), error);
    }
    // What the client sends: path and query, an empty query left out.
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    String query = uri.getRawQuery() == null ? "" : uri.getRawQuery();
    var request = HttpRequest.newBuilder(uri).method(method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    headers.forEach(request::header);
    if (version == 2) return message(request, method, path, query, body, headers);
    String timestamp = String.valueOf(System.currentTimeMillis());
    byte[] signature = mac(bytes(method + path + (query.isEmpty() ? "" : "?" + query)), body, bytes(timestamp));
    StringBuilder text = new StringBuilder();
    for (byte each : signature) text.append(String.format("%02x", each));
    if (keyId != null) request.header("X-Key-Id", keyId);
    return request.header("Svc-Request-Sig", text.toString()).header("X-Timestamp", timestamp);
  }

  /** Signs by RFC 9421. */
  private HttpRequest.Builder message(HttpRequest.Builder request, String method, String path, String query, byte[] body, Map<String, String> headers) throws GeneralSecurityException {
    var covered = new LinkedHashMap<String, String>();
    covered.put("@method", method);
    covered.put("@path", path);
    covered.put("@query", "?" + query);
    if (body.length > 0) {
      String digest = "sha-256=:" + base64(MessageDigest.getInstance("SHA-256").digest(body)) + ":";
      covered.put("content-digest", digest);
      request.header("Content-Digest", digest);
    }
    headers.forEach((name, value) -> {
      if (name.equalsIgnoreCase("Content-Type") || name.equalsIgnoreCase("Content-Encoding")) covered.put(name.toLowerCase(), value);
    });
    String names = covered.keySet().stream().map(name -> '"' + name + '"').collect(Collectors.joining(" "));
    String parameters = "(" + names + ");created=" + Instant.now().getEpochSecond() + ";nonce=\"" + UUID.randomUUID() + "\"" + (keyId == null ? "" : ";keyid=\"" + keyId + "\"");
    covered.put("@signature-params", parameters);
    String base = covered.entrySet().stream().map(each -> '"' + each.getKey() + "\": " + each.getValue()).collect(Collectors.joining("\n"));
    return request.header("Signature-Input", "sig1=" + parameters).header("Signature", "sig1=:" + base64(key == null ? mac(bytes(base)) : signature(bytes(base))) + ":");
  }

  private byte[] signature(byte[] base) throws GeneralSecurityException {
    Signature signature = Signature.getInstance("Ed25519");
    signature.initSign(key);
    signature.update(base);
    return signature.sign();
  }

  private byte[] mac(byte[]... parts) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret, "HmacSHA256"));
    for (byte[] part : parts) mac.update(part);
    return mac.doFinal();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}
