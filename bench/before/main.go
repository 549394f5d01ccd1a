//go:build unix

// Command before compares haft with what it was at an earlier commit: the size of the program,
// and what a start costs.
//
//	go run -C bench ./before -commit b7d2dc13
//
// It builds both as they are released and starts them in turn, so that a busy machine is busy
// for both. The default is the last commit before the fleet. The packages that grew most say
// where the difference comes from.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// beforeFleet is the last commit without the fleet.
const beforeFleet = "b7d2dc13"

func main() {
	commit := flag.String("commit", beforeFleet, "commit to compare with")
	n := flag.Int("n", 40, "starts of each program")
	flag.Parse()
	if err := compare(*commit, *n); err != nil {
		fmt.Fprintln(os.Stderr, "could not compare:", err)
		os.Exit(1)
	}
}

// A program is a build of haft, and what was measured of it.
type program struct {
	name     string
	exe      string
	size     int64
	inits    int // packages that do something before main
	bytes    int // what they allocate
	faults   []int
	times    []time.Duration
	packages map[string]int // bytes of code and data
}

func compare(commit string, n int) (err error) {
	dir, err := os.MkdirTemp("", "before-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := run("git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run("git", "worktree", "remove", "--force", tree)) }()
	both := []*program{{name: commit}, {name: "now"}}
	for i, from := range []string{tree, ".."} {
		if err := both[i].build(from, dir); err != nil {
			return err
		}
	}
	for range n {
		for _, p := range both {
			if err := p.start(); err != nil {
				return err
			}
		}
	}
	for _, p := range both {
		slices.Sort(p.faults)
		slices.Sort(p.times)
		fmt.Printf("%-10s %9d bytes, %3d packages allocate %6d bytes before main, %4d page faults, start %v (least %v), medians of %d\n",
			p.name, p.size, p.inits, p.bytes, p.faults[n/2], p.times[n/2].Round(10*time.Microsecond), p.times[0].Round(10*time.Microsecond), n)
	}
	showGrowth(both[0].packages, both[1].packages)
	return nil
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// build builds haft from a tree twice: as it is released, and with its symbols, to see what
// each package takes.
func (p *program) build(from, dir string) error {
	p.exe = filepath.Join(dir, p.name)
	for _, how := range []struct{ flags, out string }{{"-s -w", p.exe}, {"", p.exe + ".symbols"}} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", how.flags, "-o", how.out, "./cmd/haft")
		cmd.Dir, cmd.Env = from, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	info, err := os.Stat(p.exe)
	if err != nil {
		return err
	}
	p.size = info.Size()
	symbols, err := exec.Command("go", "tool", "nm", "-size", p.exe+".symbols").Output()
	if err != nil {
		return fmt.Errorf("read the symbols of %s: %w", p.name, err)
	}
	p.packages = map[string]int{}
	for line := range strings.Lines(string(symbols)) {
		f := strings.Fields(line) // address, size, kind, name
		if len(f) < 4 || f[2] == "b" || f[2] == "B" {
			continue // nothing of it is in the file
		}
		if size, err := strconv.Atoi(f[1]); err == nil {
			p.packages[packageOf(f[3])] += size
		}
	}
	return p.traceInits()
}

// packageOf is the package of a symbol, such as example.org/a/b of example.org/a/b.(*T).M.
func packageOf(symbol string) string {
	symbol = strings.TrimPrefix(symbol, "type:.eq.")
	path, rest := "", symbol
	if i := strings.LastIndexByte(strings.SplitN(symbol, "(", 2)[0], '/'); i >= 0 {
		path, rest = symbol[:i+1], symbol[i+1:]
	}
	name, _, ok := strings.Cut(rest, ".")
	if !ok {
		return "other"
	}
	return path + name
}

var initLine = regexp.MustCompile(`(?m)^init \S+ .* (\d+) bytes`)

func (p *program) traceInits() error {
	cmd := exec.Command(p.exe, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("trace the start of %s: %w", p.name, err)
	}
	for _, m := range initLine.FindAllSubmatch(trace.Bytes(), -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return err
		}
		p.inits, p.bytes = p.inits+1, p.bytes+n
	}
	return nil
}

// start starts the program once, from its beginning to its end.
func (p *program) start() error {
	cmd := exec.Command(p.exe, "--version")
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.times = append(p.times, time.Since(begin))
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		p.faults = append(p.faults, int(usage.Minflt))
	}
	return nil
}

// shown is how many packages are.
const shown = 15

// showGrowth prints which packages grew most.
func showGrowth(before, now map[string]int) {
	type growth struct {
		name string
		by   int
	}
	var all []growth
	for name, size := range now {
		if by := size - before[name]; by > 0 {
			all = append(all, growth{name, by})
		}
	}
	slices.SortFunc(all, func(a, b growth) int { return cmp.Or(b.by-a.by, strings.Compare(a.name, b.name)) })
	fmt.Println("\npackages that grew most, in KB of code and data:")
	for _, g := range all[:min(len(all), shown)] {
		fmt.Printf("%7.1f  %s\n", float64(g.by)/1024, g.name)
	}
}
