require_relative '../../demo/signers/signer'
require 'stringio'

$stdout.sync = true
$stdin.set_encoding('UTF-8').each_line(chomp: true) do |line|
  server, method, url, type, encoding, chunked, body = line.split("\t", -1)
  body = body.unpack1('m')
  headers = { 'Content-Type' => type, 'Content-Encoding' => encoding }.reject { |_, value| value.empty? }
  given = chunked.empty? ? (body unless body.empty?) : StringIO.new(body)
  secret = server == '2k' ? OpenSSL::PKey.read(ENV.fetch('WAYPOST_KEY')) : ENV.fetch('WAYPOST_SECRET')
  puts Signer.new(secret, version: server.to_i, key_id: ('ann' if server.end_with?('k'))).call(method, url, body: given, headers: headers).code
rescue ArgumentError => e
  puts "error #{e.message}"
end
