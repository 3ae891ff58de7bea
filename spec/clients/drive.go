package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	secret := os.Getenv("WAYPOST_SECRET")
	block, _ := pem.Decode([]byte(os.Getenv("WAYPOST_KEY")))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		panic(err)
	}
	clients := map[string]*http.Client{
		"1":  Signed(secret, 1),
		"2":  Signed(secret, 2),
		"1k": Signing{Secret: []byte(secret), Version: 1, KeyID: "ann"}.Client(),
		"2k": Signing{Key: key.(ed25519.PrivateKey), Version: 2, KeyID: "ann"}.Client(),
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if status, err := send(clients, strings.Split(lines.Text(), "\t")); err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println(status)
		}
	}
}

func send(clients map[string]*http.Client, given []string) (int, error) {
	body, _ := base64.StdEncoding.DecodeString(given[6])
	var reader io.Reader = bytes.NewReader(body)
	if given[5] != "" {
		reader = io.MultiReader(bytes.NewReader(body[:3]), bytes.NewReader(body[3:])) // of no known length
	}
	request, err := http.NewRequest(given[1], given[2], reader)
	if err != nil {
		return 0, err
	}
	for index, name := range []string{"Content-Type", "Content-Encoding"} {
		if given[3+index] != "" {
			request.Header.Set(name, given[3+index])
		}
	}
	answer, err := clients[given[0]].Do(request)
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	return answer.StatusCode, nil
}
