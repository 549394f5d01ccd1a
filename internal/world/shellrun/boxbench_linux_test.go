package shellrun

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// BenchmarkConfined measures what confinement costs over a command that is not
// confined, both in turn so that noise falls on both:
//
//	go test ./internal/world/shellrun -run '^$' -bench Confined -benchtime 300x
//
// On a quiet machine p50-over-µs stays below the budget. A busy one says nothing
// about that: there only a multiple of the plain command's time is an error.
func BenchmarkConfined(b *testing.B) {
	project, store := b.TempDir(), b.TempDir()
	home, _ := os.UserHomeDir()
	hide := sandbox.Resolve(home+"/.ssh", home+"/.aws", home+"/.gnupg", home+"/.netrc", home+"/.npmrc", home+"/.docker")
	fixed := func(s sandbox.Spec) func() (*sandbox.Spec, func()) {
		return func() (*sandbox.Spec, func()) { return &s, func() {} }
	}
	for _, mode := range []struct {
		name   string
		budget time.Duration
		spec   func() (*sandbox.Spec, func())
	}{
		{"read-only", 300 * time.Microsecond, fixed(sandbox.Spec{Read: []string{project}, Scratch: []string{home}, Hide: hide, KeepSignals: true})},
		{"project", 300 * time.Microsecond, fixed(sandbox.Spec{Write: []string{project}, Scratch: []string{home}, Hide: hide, Protect: []string{project + "/.git/config", project + "/.mcp.json"}, Network: sandbox.Proxied})},
		{"overlay", 1500 * time.Microsecond, func() (*sandbox.Spec, func()) {
			layers, err := sandbox.NewLayers(store, project)
			if err != nil {
				b.Fatal(err)
			}
			return &sandbox.Spec{Layers: layers.List, Scratch: []string{home}, Hide: hide}, func() { _ = layers.Remove() }
		}},
	} {
		b.Run(mode.name, func(b *testing.B) {
			s := newTestHost(b, nil).NewShell(project)
			run(b, s, "true")
			start := time.Now()
			spec, done := mode.spec()
			runBoxed(b, s, spec, "true")
			first := time.Since(start)
			done()
			var plain, confined []time.Duration
			for b.Loop() {
				start := time.Now()
				run(b, s, "true")
				middle := time.Now()
				spec, done := mode.spec()
				runBoxed(b, s, spec, "true")
				plain, confined = append(plain, middle.Sub(start)), append(confined, time.Since(middle))
				done()
			}
			over := median(confined) - median(plain)
			b.ReportMetric(float64(first.Microseconds()), "first-µs")
			b.ReportMetric(float64(median(plain).Microseconds()), "p50-plain-µs")
			b.ReportMetric(float64(median(confined).Microseconds()), "p50-confined-µs")
			b.ReportMetric(float64(over.Microseconds()), "p50-over-µs")
			b.ReportMetric(float64(mode.budget.Microseconds()), "budget-µs")
			if len(plain) >= 100 && over > mode.budget && median(confined) > 4*median(plain) {
				b.Errorf("a confined command takes %v, one that is not %v", median(confined), median(plain))
			}
		})
	}
}

// BenchmarkFirstConfined measures the first command of a session, which starts the
// keeper and, if it is confined, the box: what a session pays once.
//
//	go test ./internal/world/shellrun -run '^$' -bench FirstConfined -benchtime 40x
func BenchmarkFirstConfined(b *testing.B) {
	const budget = 25 * time.Millisecond
	project := b.TempDir()
	home, _ := os.UserHomeDir()
	spec := &sandbox.Spec{
		Read: []string{project}, Scratch: sandbox.Resolve(home+"/.cache", home+"/go/pkg", home+"/.npm"),
		Hide: sandbox.Resolve(home+"/.ssh", home+"/.aws", home+"/.gnupg", home+"/.netrc"), KeepSignals: true,
	}
	first := func(box *sandbox.Spec) time.Duration {
		h := NewHost(&Options{Reexec: Supervise(), NoProfile: true})
		defer h.Close()
		start := time.Now()
		task, err := h.NewShell(project).Run(b.Context(), Request{Command: "true", Box: box})
		took := time.Since(start)
		if err != nil || task.Result().Status.Code != 0 {
			b.Fatalf("%v", err)
		}
		return took
	}
	var plain, confined []time.Duration
	for b.Loop() {
		plain, confined = append(plain, first(nil)), append(confined, first(spec))
	}
	b.ReportMetric(float64(median(plain).Microseconds()), "p50-plain-µs")
	b.ReportMetric(float64(median(confined).Microseconds()), "p50-confined-µs")
	b.ReportMetric(float64(slices.Min(confined).Microseconds()), "min-confined-µs")
	b.ReportMetric(float64(budget.Microseconds()), "budget-µs")
	if len(plain) >= 20 && median(confined) > budget && median(confined) > 4*median(plain) {
		b.Errorf("the first confined command takes %v, one that is not confined %v", median(confined), median(plain))
	}
}
