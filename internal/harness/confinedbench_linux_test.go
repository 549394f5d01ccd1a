package harness_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// BenchmarkConfinedBash measures a command with what really confines it in a session,
// against the same command without, in turn:
//
//	go test ./internal/harness -run '^$' -bench ConfinedBash -benchtime 300x
func BenchmarkConfinedBash(b *testing.B) {
	home := b.TempDir()
	project := filepath.Join(home, "project")
	for _, dir := range []string{".cache", ".npm", ".ssh", ".aws", "project/.git/hooks"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.Setenv("HOME", home)
	b.Setenv("XDG_CACHE_HOME", "")
	b.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	w, err := harness.Open(&harness.Options{Dir: project, Reexec: shellrun.Supervise()})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	bash := w.Shell.List()[0]
	once := func(to tool.Confinement) time.Duration {
		call := (&tool.Call{Tool: "Bash", Confinement: to, Session: &tool.Session{}}).WithInput(json.RawMessage(`{"command":"true"}`))
		start := time.Now()
		if result, err := bash.Run(b.Context(), call); err != nil || result.Failed {
			b.Fatalf("%v %s", err, result.Text())
		}
		return time.Since(start)
	}
	kinds := []tool.Confinement{tool.Unconfined, tool.ReadOnly, tool.ProjectOnly}
	times := map[tool.Confinement][]time.Duration{}
	for _, k := range kinds {
		once(k)
	}
	for i := 0; b.Loop(); i++ {
		for j := range kinds { // each after each of the others
			k := kinds[(i+j*(1+i%2))%len(kinds)]
			times[k] = append(times[k], once(k))
		}
	}
	p50 := map[tool.Confinement]time.Duration{}
	for _, k := range kinds {
		slices.Sort(times[k])
		p50[k] = times[k][len(times[k])/2]
		b.ReportMetric(float64(p50[k].Microseconds()), "p50-"+string(k)+"-µs")
	}
	for _, k := range kinds[1:] {
		over := p50[k] - p50[tool.Unconfined]
		b.ReportMetric(float64(over.Microseconds()), "p50-"+string(k)+"-over-µs")
		if b.N >= 100 && over > 300*time.Microsecond && 2*p50[k] > 3*p50[tool.Unconfined] { // more than a busy machine explains
			b.Errorf("a command that is confined to %s takes %v, one that is not %v", k, p50[k], p50[tool.Unconfined])
		}
	}
}
