package command

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// tenantMetrics count what happens to the runs of a tenant, as its server hears of it.
type tenantMetrics struct {
	ended             *prometheus.CounterVec // by the state in which they came to rest
	takenOver, remade prometheus.Counter
	started, archived prometheus.Counter
	waited, led       prometheus.Histogram
	requests          *prometheus.HistogramVec // of workers, by what they ask for and whether they get it
}

func newTenantMetrics() *tenantMetrics {
	return &tenantMetrics{
		started:   prometheus.NewCounter(prometheus.CounterOpts{Name: "haft_runs_started_total", Help: "Runs that were submitted."}),
		archived:  prometheus.NewCounter(prometheus.CounterOpts{Name: "haft_runs_archived_total", Help: "Runs that were archived because they had nothing to do for long."}),
		ended:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "haft_runs_ended_total", Help: "How often a worker came to the end of what a run had to do, by the state of the run then."}, []string{"state"}),
		takenOver: prometheus.NewCounter(prometheus.CounterOpts{Name: "haft_takeovers_total", Help: "Runs that a worker has taken from another one, which was lost."}),
		remade:    prometheus.NewCounter(prometheus.CounterOpts{Name: "haft_tasks_remade_total", Help: "Tasks that the server made for runs that were left without one."}),
		waited:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "haft_queue_wait_seconds", Help: "How long runs waited for a worker.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 11)}),
		led:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "haft_run_seconds", Help: "How long workers led runs until they had nothing to do.", Buckets: prometheus.ExponentialBuckets(0.1, 4, 10)}),
		requests:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "haft_worker_request_seconds", Help: "How long requests of workers took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"what", "result"}),
	}
}

// note counts a change.
func (m *tenantMetrics) note(c *runs.Change) {
	if c.Was == "" {
		m.started.Inc()
	}
	if c.TakenOver {
		m.takenOver.Inc()
	}
	if c.Waited >= 0 {
		m.waited.Observe(c.Waited.Seconds())
	}
	if c.Led >= 0 {
		m.led.Observe(c.Led.Seconds())
		m.ended.WithLabelValues(string(c.Now)).Inc()
	}
}

// served counts a request of a worker.
func (m *tenantMetrics) served(what string, took time.Duration, err error) {
	result := "ok"
	if _, refused := errors.AsType[*runs.RefusedError](err); refused {
		result = "refused"
	} else if err != nil {
		result = "error"
	}
	m.requests.WithLabelValues(what, result).Observe(took.Seconds())
}

func (m *tenantMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.started, m.archived, m.ended, m.takenOver, m.remade, m.waited, m.led, m.requests}
}

// newRegistry gathers the metrics of a process.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// serverMetrics gathers those of a server and its tenants.
func serverMetrics(srv *engine.Server, conns []tenantConn) *prometheus.Registry {
	r := newRegistry()
	if srv != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "haft_disk_free_bytes", Help: "What the server may still write; 0 means that it refuses writes."}, func() float64 { return float64(srv.Room()) }))
	}
	for _, c := range conns {
		r.MustRegister(tenantGauges{c})
		prometheus.WrapRegistererWith(prometheus.Labels{"tenant": c.name}, r).MustRegister(c.metrics.all()...)
	}
	return r
}

// tenantGauges say how a tenant is now. One whose state cannot be read does not hide the others.
type tenantGauges struct{ tenantConn }

// Describe implements [prometheus.Collector]: which metrics there are depends on the tenant.
func (tenantGauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (g tenantGauges) Collect(to chan<- prometheus.Metric) {
	list, err := g.gauges()
	up := 1.0
	if err != nil {
		up, list = 0, nil
	}
	for _, m := range append(list, g.gauge("haft_up", "Whether the state of the tenant could be read.", up)) {
		to <- m
	}
}

// gauge is a value of the tenant; labels are pairs.
func (g tenantGauges) gauge(name, help string, value float64, labels ...string) prometheus.Metric {
	var names, values []string
	for pair := range slices.Chunk(labels, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, prometheus.Labels{"tenant": g.name}), prometheus.GaugeValue, value, values...)
}

func (g tenantGauges) gauges() (list []prometheus.Metric, err error) {
	ctx, cancel := engine.Attempt(context.Background())
	defer cancel()
	count, oldest, known := g.index.Counts()
	if !known {
		return nil, errors.New("the runs are not known yet")
	}
	questions, err := g.runs.Questions(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := g.runs.Workers(ctx)
	if err != nil {
		return nil, err
	}
	add := func(name, help string, value float64, labels ...string) {
		list = append(list, g.gauge(name, help, value, labels...))
	}
	waits := 0.0
	if !oldest.IsZero() {
		waits = time.Since(oldest).Seconds()
	}
	add("haft_queue_oldest_seconds", "How long the run has waited that has waited longest.", waits)
	for _, s := range []runs.State{runs.Queued, runs.Running, runs.Asking, runs.Idle, runs.Failed, runs.Cancelled, runs.Quarantined, runs.Archived} {
		add("haft_runs", "Runs, by state.", float64(count[s]), "state", string(s))
	}
	add("haft_questions", "Questions that wait for an answer.", float64(len(questions)))
	slots, free, draining := 0, 0, 0
	for _, w := range workers {
		if w.Draining {
			draining++
			continue
		}
		slots, free = slots+w.Slots, free+w.Free
	}
	add("haft_workers", "Workers that answer.", float64(len(workers)-draining), "draining", "false")
	add("haft_workers", "Workers that answer.", float64(draining), "draining", "true")
	add("haft_slots", "Slots of all workers that take runs.", float64(slots))
	add("haft_slots_free", "Slots that are free.", float64(free))
	streams := g.conn.JS.ListStreams(ctx)
	for info := range streams.Info() {
		add("haft_stream_messages", "Messages in a stream.", float64(info.State.Msgs), "stream", info.Config.Name)
		add("haft_stream_bytes", "Bytes in a stream.", float64(info.State.Bytes), "stream", info.Config.Name)
	}
	if err := streams.Err(); err != nil {
		return nil, err
	}
	return list, nil
}
