package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A status says how a server is.
type status struct {
	conns []tenantConn
	full  func() bool // reports whether the disk is full; nil means that this is not known
	token string      // that /metrics wants; "" means none
}

// serve answers /livez, /readyz, /healthz and /metrics. Who listens on the network needs TLS, and a token for the
// metrics, which name tenants.
func (s *status) serve(ctx context.Context, listen string, cert, key string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("cannot serve /healthz and /metrics at %q: give an address and a port, such as 127.0.0.1:4280", listen)
	}
	open := host != "localhost" && !net.ParseIP(host).IsLoopback()
	if open && cert == "" {
		return fmt.Errorf("cannot serve /healthz and /metrics at %s without TLS: give --tls-cert and --tls-key, or listen on 127.0.0.1", listen)
	}
	if !open {
		s.token = ""
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot serve /healthz and /metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /healthz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	if open {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			l.Close()
			return fmt.Errorf("could not read the TLS certificate: %w", err)
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	go srv.Serve(l)
	return nil
}

// ready answers whether prompts can be taken: somebody has to act if not, but starting the server again does not help.
func (s *status) ready(w http.ResponseWriter, q *http.Request) {
	if s.full != nil && s.full() {
		http.Error(w, "the disk is full", http.StatusServiceUnavailable)
		return
	}
	for _, c := range s.conns {
		attempt, cancel := engine.Attempt(q.Context())
		_, err := c.conn.JS.AccountInfo(attempt)
		cancel()
		if err != nil {
			http.Error(w, "the NATS server does not answer", http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

func (s *status) metrics(w http.ResponseWriter, q *http.Request) {
	if s.token != "" && subtle.ConstantTimeCompare([]byte(q.Header.Get("Authorization")), []byte("Bearer "+s.token)) == 0 {
		http.Error(w, "send the token from metrics.token in the store as a bearer token", http.StatusUnauthorized)
		return
	}
	writeMetrics(w, q, s.conns)
}

// metricsToken returns the token in a store, which is made once.
func metricsToken(store string) (string, error) {
	path := filepath.Join(store, "metrics.token")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		raw = []byte(rand.Text())
		err = engine.WriteFile(path, raw)
	}
	if err != nil {
		return "", fmt.Errorf("could not make the token for /metrics: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// writeMetrics writes those of each tenant. One whose state cannot be read does not hide the others.
func writeMetrics(w http.ResponseWriter, q *http.Request, conns []tenantConn) {
	var text bytes.Buffer
	text.WriteString("# TYPE haft_up gauge\n# TYPE haft_runs gauge\n# TYPE haft_questions gauge\n# TYPE haft_queue_oldest_seconds gauge\n# TYPE haft_stream_messages gauge\n# TYPE haft_stream_bytes gauge\n")
	for _, c := range conns {
		var own bytes.Buffer
		up := 1
		if err := c.metrics(q.Context(), &own); err != nil {
			up = 0
			own.Reset()
		}
		fmt.Fprintf(&text, "haft_up{tenant=%q} %d\n", c.name, up)
		text.Write(own.Bytes())
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(text.Bytes()) // who has gone reads nothing
}
