// Command search measures package search against spawning ripgrep for every query.
//
//	go run -C bench ./search -tree goroot            the Go tree
//	go run -C bench ./search -tree linux             Debian's linux-source, fetched with apt-get
//	go run -C bench ./search -tree /some/dir         anything else, left unchanged
//	go run -C bench ./search -tree goroot -session   100 queries with edits from outside
//	go run -C bench ./search -tree linux -glob       finding files by name
//	go run -C bench ./search -tree linux -small      directories of few files
//	go run -C bench ./search -tree linux -next       the first question of the next session
//
// Every variant answers every query in turn within each round, so that all meet the
// same noise; the figures are the medians of the rounds. CPU time is that of this
// process and its children, user and system. Both sides do the same work: ripgrep's
// matching files are sorted by modification time, as ours are. Every answer is
// compared with ripgrep's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/haftdev/haft/internal/world/search/rgtest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/search:", err)
		os.Exit(1)
	}
}

func run() error {
	tree := flag.String("tree", "goroot", "goroot, linux or a directory")
	rounds := flag.Int("rounds", 3, "times to repeat each query")
	session := flag.Bool("session", false, "measure a session of 100 queries with edits instead of single queries")
	texts := flag.Bool("texts", true, "keep texts in memory during a session")
	glob := flag.Bool("glob", false, "measure Glob instead of Grep")
	small := flag.Bool("small", false, "measure trees of 1, 10, 100 and 1000 files cut from the tree")
	next := flag.Bool("next", false, "measure the first question about a tree that an earlier session has searched")
	stateless := flag.Bool("stateless", false, "only measure queries without memory")
	only := flag.String("only", "", "only queries whose name contains this")
	flag.Parse()
	rg, err := rgtest.Path(context.Background())
	if err != nil {
		return err
	}
	dir, err := corpus(*tree)
	if err != nil {
		return err
	}
	ctx := context.Background()
	b := &bench{rg: rg, dir: dir, rounds: *rounds, only: *only, texts: *texts, out: os.Stdout, stateless: *stateless}
	fmt.Fprintf(b.out, "load average %s on %d processors\n\n", load(), runtime.NumCPU())
	defer func() { fmt.Fprintf(b.out, "\nload average %s\n", load()) }()
	switch {
	case *session:
		return b.session(ctx)
	case *glob:
		return b.globs(ctx)
	case *small:
		return b.small(ctx)
	case *next:
		return b.next(ctx)
	}
	return b.queries(ctx)
}

// corpus gives the directory to search, fetching it if need be.
func corpus(name string) (string, error) {
	switch name {
	case "goroot":
		out, err := exec.Command("go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), err
	case "linux":
		return linuxSource()
	}
	return filepath.Abs(name)
}
