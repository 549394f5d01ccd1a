package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkQuery measures the official SDK's query() with haft, and with the
// official executable in the same run where HAFT_REFERENCE names it.
//
//	HAFT_PEERS=1 HAFT_REFERENCE=/path/to/claude go test ./internal/test/interop -run '^$' -bench Query -benchtime 10x
func BenchmarkQuery(b *testing.B) {
	dir := installSDK(b)
	args := []string{"bench.mjs", fmt.Sprint(b.N), "haft=" + build(b)}
	if claude := os.Getenv("HAFT_REFERENCE"); claude != "" {
		args = append(args, "reference="+claude)
	}
	cmd := exec.CommandContext(b.Context(), "node", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "INTEROP_CONTROL="+serveModels(b))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var m struct {
			Name string
			MS   map[string]float64
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			b.Fatalf("%s: %v", lines.Bytes(), err)
		}
		name := strings.ReplaceAll(m.Name, " ", "-")
		for executable, ms := range m.MS {
			b.ReportMetric(ms, name+"-"+executable+"-ms")
		}
		if reference := m.MS["reference"]; reference > 0 {
			b.ReportMetric(reference/m.MS["haft"], name+"-times-faster")
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op") // the medians are what counts
}
