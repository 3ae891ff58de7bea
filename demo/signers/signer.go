// Signs what net/http sends. Copy this file, name your package, then:
//
//	client := Signed(secret, 1) // 2 for a server of version 2
//	client.Post("https://api.example/orders?rush=1", "application/json", strings.NewReader(`{"item":42}`))
//
// Where each client has a key: Signing{Secret: secret, Version: 1, KeyID: "ann"}.Client(), and for a server
// with public keys Signing{Key: key, Version: 2, KeyID: "ann"}.Client().
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Signing is a transport that signs each request.
type Signing struct {
	Secret  []byte
	Key     ed25519.PrivateKey // in place of Secret, with version 2
	Version int
	KeyID   string
	Base    http.RoundTripper // http.DefaultTransport where it is nil
}

// Signed makes a client that signs.
func Signed(secret string, version int) *http.Client {
	return Signing{Secret: []byte(secret), Version: version}.Client()
}

// Client makes a client that signs. It returns redirects: a signature is for one URL.
func (s Signing) Client() *http.Client {
	return &http.Client{
		Transport:     s,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var signable = regexp.MustCompile(`^/[!$-;=?-\[\]-_a-z|~]*$`)

func (s Signing) RoundTrip(given *http.Request) (*http.Response, error) {
	request := given.Clone(given.Context())
	var body []byte
	if given.Body != nil {
		var err error
		body, err = io.ReadAll(given.Body)
		given.Body.Close()
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	// What is written on the wire: path and query, without the fragment.
	target := request.URL.RequestURI()
	if !signable.MatchString(target) {
		return nil, fmt.Errorf("%q can't be signed: percent-encode it, as by url.PathEscape and url.Values.Encode", target)
	}
	if s.Version == 1 {
		timestamp := fmt.Sprint(time.Now().UnixMilli())
		signature := s.mac([]byte(request.Method+target), body, []byte(timestamp))
		request.Header.Set("Svc-Request-Sig", hex.EncodeToString(signature))
		request.Header.Set("X-Timestamp", timestamp)
		if s.KeyID != "" {
			request.Header.Set("X-Key-Id", s.KeyID)
		}
	} else {
		s.message(request, target, body)
	}
	if s.Base == nil {
		return http.DefaultTransport.RoundTrip(request)
	}
	return s.Base.RoundTrip(request)
}

// Signs by RFC 9421.
func (s Signing) message(request *http.Request, target string, body []byte) {
	path, query, _ := strings.Cut(target, "?")
	var names, lines []string
	cover := func(name, value string) {
		names = append(names, `"`+name+`"`)
		lines = append(lines, fmt.Sprintf("%q: %s\n", name, value))
	}
	cover("@method", request.Method)
	cover("@path", path)
	cover("@query", "?"+query)
	if len(body) > 0 {
		digest := sha256.Sum256(body)
		request.Header.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(digest[:])+":")
	}
	for _, name := range []string{"content-digest", "content-type", "content-encoding"} {
		if value := request.Header.Get(name); value != "" {
			cover(name, value)
		}
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	parameters := fmt.Sprintf("(%s);created=%d;nonce=\"%x\"", strings.Join(names, " "), time.Now().Unix(), nonce)
	if s.KeyID != "" {
		parameters += fmt.Sprintf(";keyid=%q", s.KeyID)
	}
	base := []byte(strings.Join(lines, "") + `"@signature-params": ` + parameters)
	var signature []byte
	if s.Key != nil {
		signature = ed25519.Sign(s.Key, base)
	} else {
		signature = s.mac(base)
	}
	request.Header.Set("Signature-Input", "sig1="+parameters)
	request.Header.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

func (s Signing) mac(parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, s.Secret)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
