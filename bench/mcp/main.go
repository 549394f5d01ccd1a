// Command mcp measures the MCP host: what a call costs over the bare SDK, how
// much a large result allocates, how fast servers start, end and come back; and
// haft as a server.
//
//	go run -C bench ./mcp              everything, about half a minute
//	go run -C bench ./mcp -only call   the measurements whose name has this in it
//
// Servers are this program, started again. Host and bare SDK take turns within
// each round, so that both meet the same noise.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/shellrun"
)

func main() {
	reexec := shellrun.Supervise()
	if mode := os.Getenv(serverEnv); mode != "" {
		os.Exit(serve(mode))
	}
	only := flag.String("only", "", "only measurements whose name contains this")
	rounds := flag.Int("rounds", 5, "times to repeat each")
	flag.Parse()
	shells := shellrun.NewHost(&shellrun.Options{Reexec: reexec})
	b := &bench{rounds: *rounds, runner: shells.Runner()}
	code := b.all(*only)
	if b.haft != "" {
		os.RemoveAll(filepath.Dir(b.haft))
	}
	if err := shells.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/mcp:", err)
	}
	os.Exit(code)
}

type measurement struct {
	name, bound string
	run         func(*bench) (string, error)
}

type bench struct {
	rounds int
	runner shellrun.Runner
	haft   string // the built command; "" if it is not
}

// all prints each measurement beside what it is held to.
func (b *bench) all(only string) int {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "measurement\tresult\theld to")
	code := 0
	for _, m := range slices.Concat(measurements, serving) {
		if !strings.Contains(m.name, only) {
			continue
		}
		result, err := m.run(b)
		if err != nil {
			result, code = "error: "+err.Error(), 1
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.name, result, m.bound)
		w.Flush()
	}
	return code
}
