import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;

public final class Drive {
  public static void main(String[] args) throws Exception {
    var client = HttpClient.newHttpClient();
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] given = line.split("\t", -1);
      byte[] body = Base64.getDecoder().decode(given[6]);
      var headers = new HashMap<String, String>();
      if (!given[3].isEmpty()) headers.put("Content-Type", given[3]);
      if (!given[4].isEmpty()) headers.put("Content-Encoding", given[4]);
      try {
        var request = new Signer(System.getenv("WAYPOST_SECRET"), Integer.parseInt(given[0])).request(given[1], given[2], body, headers);
        if (!given[5].isEmpty()) request.method(given[1], BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(body)));
        System.out.println(client.send(request.build(), BodyHandlers.discarding()).statusCode());
      } catch (IllegalArgumentException error) {
        System.out.println("error " + error.getMessage());
      }
    }
  }
}
