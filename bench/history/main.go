// Command history measures what a turn costs at commits of the past, all in one run, and draws it.
//
//	go run -C bench ./history -commits 3a587e0,9e44704    builds them and the work tree, measures, draws
//	go run -C bench ./history                             draws what was measured
//
// What is measured is kept in bench/history.tsv, what is drawn in bench/history.svg. Figures are processor
// time as a multiple of the floor's, which plays in the same run: see bench/turns.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	commits := flag.String("commits", "", "commits to measure, oldest first, separated by commas")
	reps := flag.Int("reps", 5, "how often each plays")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *commits, *reps); err != nil {
		fmt.Fprintln(os.Stderr, "bench/history:", err)
		os.Exit(1)
	}
}

const (
	table   = "history.tsv"
	drawing = "history.svg"
)

func run(ctx context.Context, commits string, reps int) error {
	if commits != "" {
		points, err := measure(ctx, strings.Split(commits, ","), reps)
		if err != nil {
			return err
		}
		if err := os.WriteFile(table, encode(points), 0o644); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	points, err := decode(string(raw))
	if err != nil {
		return err
	}
	return os.WriteFile(drawing, draw(points), 0o644)
}

// A point is what a build costs, in multiples of the floor's cost.
type point struct {
	name, date  string
	start, turn float64
}

// measure builds commits, and the work tree, and lets them play in turn.
func measure(ctx context.Context, commits []string, reps int) ([]point, error) {
	dir, err := os.MkdirTemp("", "haft-history-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var points []point
	var also []string
	for _, c := range commits {
		date, err := output(ctx, "git", "log", "-1", "--format=%cs", c)
		if err != nil {
			return nil, err
		}
		exe := filepath.Join(dir, "haft-"+c)
		if err := build(ctx, filepath.Join(dir, "tree"), c, exe); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", c, err)
			continue
		}
		points, also = append(points, point{name: c, date: strings.TrimSpace(date)}), append(also, c+"="+exe)
	}
	out, err := output(ctx, "go", "run", "./turns", "-cpu", "-reps", strconv.Itoa(reps), "-also", strings.Join(also, ","))
	if err != nil {
		return nil, err
	}
	fmt.Print(out)
	costs, err := read(out)
	if err != nil {
		return nil, err
	}
	points = append(points, point{name: "haft", date: "now"})
	for i := range points {
		cost, ok := costs[points[i].name]
		if !ok {
			return nil, fmt.Errorf("%s was not measured", points[i].name)
		}
		points[i].start, points[i].turn = cost[0], cost[1]
	}
	return points, nil
}

// build builds a commit in a work tree of its own.
func build(ctx context.Context, tree, commit, exe string) (err error) {
	if _, err := output(ctx, "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() {
		_, gone := output(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	_, err = output(ctx, "env", "CGO_ENABLED=0", "go", "build", "-C", tree, "-trimpath", "-ldflags", "-s -w", "-o", exe, "./cmd/haft")
	return err
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, complaints.Bytes())
	}
	return string(out), nil
}

// row is a line of bench/turns -cpu: a name, and two costs with their multiples in parentheses.
var row = regexp.MustCompile(`(?m)^(\S+) .*\(([0-9.]+)\).*\(([0-9.]+)\)$`)

// read returns the multiples by name.
func read(out string) (map[string][2]float64, error) {
	costs := map[string][2]float64{}
	for _, m := range row.FindAllStringSubmatch(out, -1) {
		start, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		turn, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		costs[m[1]] = [2]float64{start, turn}
	}
	return costs, nil
}

func encode(points []point) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "commit\tdate\tstart\tturn")
	for _, p := range points {
		fmt.Fprintf(&b, "%s\t%s\t%.1f\t%.1f\n", p.name, p.date, p.start, p.turn)
	}
	return b.Bytes()
}

func decode(text string) (points []point, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s: %q has %d fields, not 4", table, line, len(f))
		}
		p := point{name: f[0], date: f[1]}
		var errs [2]error
		p.start, errs[0] = strconv.ParseFloat(f[2], 64)
		p.turn, errs[1] = strconv.ParseFloat(f[3], 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		points = append(points, p)
	}
	return points, nil
}
