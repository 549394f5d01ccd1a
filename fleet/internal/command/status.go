package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
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

func writeMetrics(w http.ResponseWriter, q *http.Request, conns []tenantConn) {
	var text bytes.Buffer
	text.WriteString("# TYPE haft_runs gauge\n# TYPE haft_questions gauge\n# TYPE haft_stream_messages gauge\n# TYPE haft_stream_bytes gauge\n")
	for _, c := range conns {
		if err := c.metrics(q.Context(), &text); err != nil {
			http.Error(w, "the NATS server does not answer", http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(text.Bytes()) // who has gone reads nothing
}

// metrics are those of a tenant.
func (c tenantConn) metrics(ctx context.Context, text *bytes.Buffer) error {
	list, err := c.runs.List(ctx)
	if err != nil {
		return err
	}
	questions, err := c.runs.Questions(ctx)
	if err != nil {
		return err
	}
	count := map[runs.State]int{}
	for _, run := range list {
		count[run.State]++
	}
	for _, s := range []runs.State{runs.Queued, runs.Running, runs.Asking, runs.Idle, runs.Failed, runs.Cancelled, runs.Quarantined, runs.Archived} {
		fmt.Fprintf(text, "haft_runs{tenant=%q,state=%q} %d\n", c.name, s, count[s])
	}
	fmt.Fprintf(text, "haft_questions{tenant=%q} %d\n", c.name, len(questions))
	names := []string{engine.Tasks}
	for n := range uint32(engine.Shards) {
		names = append(names, engine.Journals(n), engine.Sessions(n))
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		s, err := c.conn.Stream(ctx, name)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(text, "haft_stream_messages{tenant=%q,stream=%q} %d\nhaft_stream_bytes{tenant=%q,stream=%q} %d\n", c.name, name, info.State.Msgs, c.name, name, info.State.Bytes)
	}
	return nil
}
