package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// serveStatus answers /healthz and /metrics.
func serveStatus(ctx context.Context, listen string, conns []tenantConn) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot serve /healthz and /metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, q *http.Request) {
		for _, c := range conns {
			attempt, cancel := engine.Attempt(q.Context())
			_, err := c.conn.JS.AccountInfo(attempt)
			cancel()
			if err != nil {
				http.Error(w, "the NATS server does not answer", http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, q *http.Request) { writeMetrics(w, q, conns) })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	go srv.Serve(l)
	return nil
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
