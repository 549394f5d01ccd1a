// Package devwork is developer work for tests: a small project in several
// languages and some eighty commands that people run in one. Tests run each
// command in the way that they check and in the plain one, and compare:
//
//	p := devwork.New(t)
//	for _, c := range devwork.Commands() {
//		t.Run(c.Line, func(t *testing.T) {
//			c.Need(t)
//			p.Reset(t)
//			… // run c.Line in p.Dir, without a network
//			after := p.Tree(t)
//		})
//	}
//
// Outputs are compared after [Clean], trees by [Project.Tree]. A Project belongs to
// one test at a time; everything else is safe for concurrent use.
package devwork

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// A Command is one piece of work. It needs no network.
type Command struct {
	Line  string   // for bash
	Needs []string // programs
	Reads bool     // changes nothing in the project, and nothing elsewhere but temporary files and caches
	Code  int      // the exit code
}

//go:embed commands.txt
var table string

// Commands lists the work.
func Commands() []Command {
	var commands []Command
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := parse(line)
		if err != nil {
			panic(err) // the table is part of the program
		}
		commands = append(commands, c)
	}
	return commands
}

var row = regexp.MustCompile(`^(reads|writes)\s+(\d+)\s+(\S+)\s+(.+)$`)

func parse(line string) (Command, error) {
	m := row.FindStringSubmatch(line)
	if m == nil {
		return Command{}, fmt.Errorf("not a row of commands.txt: %q", line)
	}
	c := Command{Reads: m[1] == "reads", Line: m[4]}
	c.Code, _ = strconv.Atoi(m[2])
	if m[3] != "-" {
		c.Needs = strings.Split(m[3], ",")
	}
	return c, nil
}

// Need skips a test that lacks a program of the command; in CI it fails.
func (c Command) Need(t testing.TB) {
	t.Helper()
	for _, name := range c.Needs {
		needtest.Program(t, name)
	}
}

// changing matches what differs from one run of a program to the next: times,
// process ids, addresses, temporary names.
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?:/var)?/tmp/[^\s:,'"]+`), "TMP"},
	{regexp.MustCompile(`\b0x[0-9a-f]+\b`), "0xN"},
	{regexp.MustCompile(`\b(process|pid|LWP) \d+`), "$1 N"},
	{regexp.MustCompile(`duration_ms:? [\d.]+`), "duration_ms N"},
	{regexp.MustCompile(`line (\d+): +\d+ `), "line $1: N "},
	{regexp.MustCompile(`\b\d+(?:\.\d+)?\s?(?:ms|s|seconds?)\b|\(cached\)`), "N s"},
}

// Clean makes the outputs of two runs of a command comparable.
func Clean(output string) string {
	for _, c := range changing {
		output = c.pattern.ReplaceAllString(output, c.instead)
	}
	return output
}
