package command

import (
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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/sys/loopback"
)

// A statusPage answers how a process is: /livez while it runs, /readyz while it can do its work, and /metrics.
type statusPage struct {
	listen, cert, key string
	ready             func(context.Context) error
	metrics           prometheus.Gatherer
	token             string // that /metrics wants on the network
}

// serve answers until ctx ends. Who listens on the network needs TLS, and a token for the metrics, which name tenants.
func (s *statusPage) serve(ctx context.Context) error {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("cannot serve /readyz and /metrics at %q: give an address and a port, such as 127.0.0.1:4280", s.listen)
	}
	open := !loopback.Host(host)
	if open && s.cert == "" {
		return fmt.Errorf("cannot serve /readyz and /metrics at %s without TLS: give --tls-cert and --tls-key, or listen on 127.0.0.1", s.listen)
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("cannot serve /readyz and /metrics: %w", err)
	}
	if open {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			l.Close()
			return fmt.Errorf("could not read the TLS certificate: %w", err)
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	srv := &http.Server{Handler: s.handler(open), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	go srv.Serve(l)
	return nil
}

func (s *statusPage) handler(open bool) http.Handler {
	mux := http.NewServeMux()
	ready := func(w http.ResponseWriter, q *http.Request) {
		if err := s.ready(q.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", ready)
	metrics := promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, q *http.Request) {
		if open && subtle.ConstantTimeCompare([]byte(q.Header.Get("Authorization")), []byte("Bearer "+s.token)) == 0 {
			http.Error(w, "send the token from metrics.token as a bearer token", http.StatusUnauthorized)
			return
		}
		metrics.ServeHTTP(w, q)
	})
	return mux
}

// canTakePrompts returns why a server cannot take prompts: somebody has to act then, but starting the server again does
// not help.
func canTakePrompts(ctx context.Context, srv *engine.Server, conns []tenantConn) error {
	if srv != nil && srv.Full() {
		return errors.New("the disk is full")
	}
	for _, c := range conns {
		attempt, cancel := engine.Attempt(ctx)
		_, err := c.conn.JS.AccountInfo(attempt)
		cancel()
		if err != nil {
			return errors.New("the NATS server does not answer")
		}
	}
	return nil
}

// metricsToken returns the token in a folder, which is made once.
func metricsToken(dir string) (string, error) {
	path := filepath.Join(dir, "metrics.token")
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
