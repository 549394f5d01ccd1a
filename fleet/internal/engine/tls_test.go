package engine_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A server with a certificate talks to those who check it and to nobody in the clear.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "haft"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := engine.Start(&engine.ServerOptions{Listen: "0.0.0.0:0", Store: t.TempDir(),
		TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS13}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	_, port, err := net.SplitHostPort(srv.URL()[len("tls://"):])
	if err != nil {
		t.Fatalf("the address %s: %v", srv.URL(), err)
	}
	for name, c := range map[string]struct {
		url  string
		tls  *tls.Config
		want bool
	}{
		"who checks the certificate":   {"tls://127.0.0.1:" + port, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}, true},
		"who trusts other authorities": {"tls://127.0.0.1:" + port, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}, false},
		"who has an older TLS":         {"tls://127.0.0.1:" + port, &tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS12}, false},
		"who says nothing about TLS":   {"nats://127.0.0.1:" + port, nil, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		conn, err := engine.Connect(ctx, c.url, &engine.ConnectOptions{Key: srv.Keys().Operator, TLS: c.tls})
		cancel()
		if (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
