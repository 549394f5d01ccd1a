package worker

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/haftdev/haft/session"
)

// Metrics count what a worker does.
type Metrics struct {
	slots, leading, draining prometheus.Gauge
	seconds                  *prometheus.HistogramVec
	turns                    *prometheus.CounterVec
}

// NewMetrics makes metrics and registers them; nil registers them nowhere.
func NewMetrics(r prometheus.Registerer) *Metrics {
	make := promauto.With(r)
	return &Metrics{
		slots:    make.NewGauge(prometheus.GaugeOpts{Name: "haft_worker_slots", Help: "Runs that this worker can lead at once."}),
		leading:  make.NewGauge(prometheus.GaugeOpts{Name: "haft_worker_leading", Help: "Runs that this worker leads."}),
		draining: make.NewGauge(prometheus.GaugeOpts{Name: "haft_worker_draining", Help: "1 if this worker takes no more runs."}),
		seconds:  make.NewHistogramVec(prometheus.HistogramOpts{Name: "haft_worker_run_seconds", Help: "How long this worker led runs, by how that ended: done, returned, fenced or error.", Buckets: prometheus.ExponentialBuckets(0.1, 4, 10)}, []string{"end"}),
		turns:    make.NewCounterVec(prometheus.CounterOpts{Name: "haft_worker_turns_total", Help: "Turns of this worker, by why they ended."}, []string{"reason"}),
	}
}

// led counts the end of a run that a worker led.
func (m *Metrics) led(took time.Duration, left bool, err error) {
	end := "done"
	switch {
	case errors.Is(err, session.ErrFenced):
		end = "fenced"
	case left:
		end = "returned"
	case err != nil:
		end = "error"
	}
	m.seconds.WithLabelValues(end).Observe(took.Seconds())
}
