# Signs what Ruby's Net::HTTP sends. Copy this file, then:
#
#   signer = Signer.new(secret) # version: 2 for a server of version 2
#   signer.call('POST', 'https://api.example/orders?rush=1', body: '{"item":42}', headers: { 'Content-Type' => 'application/json' })
#
# Where each client has a key, key_id: names it. For a server of version 2 with public keys, the secret is
# the private key: OpenSSL::PKey.read(File.read('ann.key')).
require 'base64'
require 'net/http'
require 'openssl'
require 'securerandom'

class Signer
  def initialize(secret, version: 1, key_id: nil)
    @secret = secret
    @version = version
    @key_id = key_id
  end

  # Signs and sends a request. A body may be an IO: it is read, and sent in chunks.
  def call(method, url, body: nil, headers: {})
    uri = parse(url)
    request = Net::HTTPGenericRequest.new(method, !body.nil?, method != 'HEAD', uri, headers)
    if body.respond_to?(:read)
      body = body.read
      request.body_stream = StringIO.new(body)
      request['Transfer-Encoding'] = 'chunked'
    else
      request.body = body
    end
    sign(request, body || '')
    Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https') { |http| http.request(request) }
  end

  # Adds the headers to a request of Net::HTTP, whose path is the target on the wire.
  def sign(request, body)
    # Without a type Net::HTTP would add one of its own.
    request['Content-Type'] ||= 'application/octet-stream' unless body.empty?
    return sign_message(request, body) if @version == 2

    timestamp = (Time.now.to_f * 1000).to_i.to_s
    request['Svc-Request-Sig'] = OpenSSL::HMAC.hexdigest('SHA256', @secret, [request.method, request.path, body, timestamp].map(&:b).join)
    request['X-Timestamp'] = timestamp
    request['X-Key-Id'] = @key_id if @key_id
  end

  private

  def parse(url)
    uri = URI(url)
    raise ArgumentError, "#{uri.request_uri} can't be signed: percent-encode it" unless uri.request_uri.match?(%r{\A/[!$-;=?-\[\]-_a-z|~]*\z})

    uri
  rescue URI::InvalidURIError => e
    raise ArgumentError, "percent-encode the URL, as by URI.encode_www_form_component: #{e.message}"
  end

  # Signs by RFC 9421.
  def sign_message(request, body)
    path, query = request.path.split('?', 2)
    request['Content-Digest'] = "sha-256=:#{Base64.strict_encode64(OpenSSL::Digest.digest('SHA256', body))}:" unless body.empty?
    covered = { '@method' => request.method, '@path' => path, '@query' => "?#{query}" }
    %w[content-digest content-type content-encoding].each { |name| covered[name] = request[name] if request[name] }
    names = covered.keys.map { |name| %("#{name}") }.join(' ')
    parameters = %[(#{names});created=#{Time.now.to_i};nonce="#{SecureRandom.hex}"]
    parameters += %(;keyid="#{@key_id}") if @key_id
    base = covered.merge('@signature-params' => parameters).map { |name, value| %("#{name}": #{value}) }.join("\n")
    signature = @secret.is_a?(OpenSSL::PKey::PKey) ? @secret.sign(nil, base) : OpenSSL::HMAC.digest('SHA256', @secret, base)
    request['Signature-Input'] = "sig1=#{parameters}"
    request['Signature'] = "sig1=:#{Base64.strict_encode64(signature)}:"
  end
end
