package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/search"
)

// answer is a result in comparable form: one string per file or line, unordered.
type answer []string

// runRg asks ripgrep as a harness does: one process per query, hidden files
// included, output collected, matching files sorted by modification time.
func runRg(rg, dir string, q search.Query) (answer, error) {
	args := []string{"--no-config", "--hidden", "--glob", "!.git", "--no-heading", "--color=never", "--no-messages"}
	switch q.Mode {
	case search.Files:
		args = append(args, "-l")
	case search.Count:
		args = append(args, "-c", "-H")
	case search.Content:
		args = append(args, "-n", "-H")
		if q.Before > 0 || q.After > 0 {
			args = append(args, fmt.Sprintf("-B%d", q.Before), fmt.Sprintf("-A%d", q.After))
		}
	}
	if q.IgnoreCase {
		args = append(args, "-i")
	}
	if q.Multiline {
		args = append(args, "-U", "--multiline-dotall")
	}
	for _, g := range q.Globs {
		args = append(args, "--glob", g)
	}
	for _, t := range q.Types {
		args = append(args, "--type", t)
	}
	path := dir
	if q.Path != "" {
		path = q.Path
	}
	lines, err := output(exec.Command(rg, append(args, "-e", q.Pattern, path)...), dir)
	if err == nil && q.Mode == search.Files {
		byTime(lines)
	}
	return lines, err
}

func output(cmd *exec.Cmd, dir string) (answer, error) {
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.ExitCode() <= 2 {
		err = nil // no match, or some file could not be read
	}
	if out.Len() == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

func byTime(paths answer) {
	times := make(map[string]int64, len(paths))
	for _, p := range paths {
		if fi, err := os.Stat(p); err == nil {
			times[p] = fi.ModTime().UnixNano()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(max(-1, min(1, times[b]-times[a]))) })
}

// format writes a result the way ripgrep does.
func format(q search.Query, r *search.Result) answer {
	var out answer
	for _, h := range r.Hits {
		switch q.Mode {
		case search.Files:
			out = append(out, h.Path)
		case search.Count:
			out = append(out, fmt.Sprintf("%s:%d", h.Path, h.Count))
		case search.Content:
			for _, l := range h.Lines {
				sep := "-"
				if l.Match {
					sep = ":"
				}
				out = append(out, fmt.Sprintf("%s%s%d%s%s", h.Path, sep, l.Number, sep, l.Text))
			}
		}
	}
	return out
}

// differ counts the strings that only one of the answers holds. Lines that are long,
// not UTF-8, separators or notes are left aside: they are shown differently on
// purpose.
func differ(a, b answer) int {
	a, b = comparable(a), comparable(b)
	seen := map[string]int{}
	for _, s := range a {
		seen[s]++
	}
	for _, s := range b {
		seen[s]--
	}
	n := 0
	for _, v := range seen {
		n += max(v, -v)
	}
	return n
}

func comparable(a answer) answer {
	var out answer
	for _, s := range a {
		if len(s) > 500 || s == "--" || strings.Contains(s, "stopped searching binary file") {
			continue
		}
		s = strings.TrimSuffix(strings.ToValidUTF8(s, "\uFFFD"), "\r")
		out = append(out, s)
	}
	return out
}
