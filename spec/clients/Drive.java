import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

public final class Drive {
  public static void main(String[] args) throws Exception {
    String secret = System.getenv("WAYPOST_SECRET");
    byte[] der = Base64.getMimeDecoder().decode(System.getenv("WAYPOST_KEY").replaceAll("-----[^-]*-----", ""));
    var key = KeyFactory.getInstance("Ed25519").generatePrivate(new PKCS8EncodedKeySpec(der));
    var signers = Map.of("1", new Signer(secret, 1), "2", new Signer(secret, 2), "1k", new Signer(secret, 1, "ann"), "2k", new Signer(key, "ann"));
    var client = HttpClient.newHttpClient();
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] given = line.split("\t", -1);
      byte[] body = Base64.getDecoder().decode(given[6]);
      var headers = new HashMap<String, String>();
      if (!given[3].isEmpty()) headers.put("Content-Type", given[3]);
      if (!given[4].isEmpty()) headers.put("Content-Encoding", given[4]);
      try {
        var request = signers.get(given[0]).request(given[1], given[2], body, headers);
        if (!given[5].isEmpty()) request.method(given[1], BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(body)));
        System.out.println(client.send(request.build(), BodyHandlers.discarding()).statusCode());
      } catch (IllegalArgumentException error) {
        System.out.println("error " + error.getMessage());
      }
    }
  }
}
