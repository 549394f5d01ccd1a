//go:build unix

package cli_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certificate makes one for a name, and returns the files and a pool that trusts it.
func certificate(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, pool = filepath.Join(dir, "box.crt"), filepath.Join(dir, "box.key"), x509.NewCertPool()
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: raw}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return cert, key, pool
}

// A server on another address speaks TLS under the name that it was given, and under no
// other, and HTTP without TLS gets nothing.
func TestServeWithTLS(t *testing.T) {
	cert, key, pool := certificate(t, "box.example")
	home := t.TempDir()
	cmd := exec.Command(haftCommand(t), "serve", "--json", "--listen", "0.0.0.0:0", "--host", "box.example", "--tls-cert", cert, "--tls-key", key)
	cmd.Env = append(os.Environ(), "HOME="+home, "HAFT_HOME="+home+"/.haft", "CLAUDE_CONFIG_DIR="+home+"/.claude", "ANTHROPIC_API_KEY=x")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}()
	var printed struct{ URL, TokenFile string }
	if err := json.NewDecoder(out).Decode(&printed); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(printed.URL)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Token string }
	raw, err := os.ReadFile(printed.TokenFile)
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	token := kept.Token
	if err != nil || address.Scheme != "https" || address.Hostname() != "box.example" || token == "" {
		t.Fatalf("the address is %s", printed.URL)
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, "127.0.0.1:"+address.Port())
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "box.example"}}}
	ask := func(method, to, host, body string) *http.Response {
		r, err := http.NewRequest(method, to, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	base := "https://" + address.Host
	if resp := ask("GET", base+"/v1/sessions", "", ""); resp.StatusCode != http.StatusOK || resp.TLS == nil || resp.TLS.Version < tls.VersionTLS12 {
		t.Errorf("over TLS: %s", resp.Status)
	}
	if resp := ask("GET", base+"/v1/sessions", "evil.example:"+address.Port(), ""); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %s", resp.Status)
	}
	if resp := ask("POST", base+"/v1/login", "", `{"code":"`+strings.TrimPrefix(address.Fragment, "login=")+`"}`); resp.StatusCode != http.StatusOK || len(resp.Cookies()) > 0 {
		t.Errorf("a login: %s %v", resp.Status, resp.Cookies())
	}
	if resp := ask("GET", "http://"+address.Host+"/v1/sessions", "", ""); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", resp.Status)
	}
}
