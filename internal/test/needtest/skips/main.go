// Command skips reads what go test -json writes and holds it against a list of the tests that
// may be skipped, each with its reason:
//
//	go test -json ./... | skips [-update] LIST
//
// It prints each package as go test does, and what failing tests said. It fails if a test failed,
// or was skipped and is not in the list with that reason. So the list gets longer only by an
// edit that somebody reviews; -update writes it. Lines of the list about packages that did not
// run are left alone.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	update := flag.Bool("update", false, "write the list")
	flag.Parse()
	if err := run(flag.Arg(0), *update, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(list string, update bool, events io.Reader, out io.Writer) error {
	got, err := read(events, out)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(list)
	if err != nil && !(update && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	var want, others []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		pkg, _, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case got.ran[pkg]:
			want = append(want, line)
		default:
			others = append(others, line)
		}
	}
	if update {
		all := slices.Concat(others, got.skipped)
		slices.Sort(all)
		if err := os.WriteFile(list, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			return err
		}
		want = got.skipped
	}
	unlisted := without(got.skipped, want)
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", got.passed, got.failed, len(got.skipped))
	show(out, "Not skipped any more; remove from "+list, without(want, got.skipped))
	show(out, "Skipped and not in "+list, unlisted)
	switch {
	case len(got.ran) == 0:
		return errors.New("no package was tested")
	case got.failed > 0:
		return fmt.Errorf("%d tests or packages failed", got.failed)
	case len(unlisted) > 0:
		return fmt.Errorf("%d tests are skipped and not in %s: make them run, or list them and say why in the review", len(unlisted), list)
	}
	return nil
}

// results are what a run of go test came to.
type results struct {
	ran            map[string]bool // by package
	skipped        []string        // "package test: reason", sorted
	passed, failed int
}

func read(events io.Reader, out io.Writer) (results, error) {
	got := results{ran: map[string]bool{}}
	said := map[string]*strings.Builder{}
	in := json.NewDecoder(bufio.NewReader(events))
	for {
		var e struct{ Action, Package, Test, Output string }
		if err := in.Decode(&e); err == io.EOF {
			slices.Sort(got.skipped)
			return got, nil
		} else if err != nil {
			return got, fmt.Errorf("read the output of go test -json: %w", err)
		}
		key := e.Package + " " + e.Test
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		switch e.Action {
		case "output", "build-output":
			said[key].WriteString(e.Output)
			if e.Test == "" && (verdict.MatchString(e.Output) || e.Action == "build-output") {
				fmt.Fprint(out, e.Output)
			}
		case "pass", "fail", "skip":
			got.ran[e.Package] = true
			got.add(e.Action, e.Package, e.Test, said[key].String(), out)
			delete(said, key)
		}
	}
}

// verdict is the line of go test about a package.
var verdict = regexp.MustCompile(`^(ok|FAIL|panic:)[ \t]`)

// add counts one test, or one package where there is no test.
func (r *results) add(action, pkg, test, said string, out io.Writer) {
	switch {
	case action == "fail":
		r.failed++
		fmt.Fprintf(out, "--- FAIL: %s %s\n%s", pkg, test, said)
	case test == "":
	case action == "pass":
		r.passed++
	case action == "skip":
		r.skipped = append(r.skipped, fmt.Sprintf("%s %s: %s", pkg, test, reason(said)))
	}
}

// where finds what a test says beside its file and line.
var where = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.+)$`)

// reason is the last thing that a test said before it was skipped.
func reason(said string) string {
	for _, m := range slices.Backward(where.FindAllStringSubmatch(said, -1)) {
		if text := strings.TrimSpace(m[1]); !strings.HasPrefix(text, "WORK=") { // where testscript begins the log of a script
			return text
		}
	}
	return "no reason given"
}

func without(lines, listed []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(listed, line) })
}

func show(out io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(out, "%s:\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}
