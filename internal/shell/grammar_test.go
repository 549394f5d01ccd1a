package shell

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/shell/grammar"
)

func TestGrammarExamples(t *testing.T) {
	for _, e := range grammar.Builtin().Examples {
		a := Analyze(e.Command, &Options{Cwd: "/home/u/proj", Home: "/home/u"})
		if fits := a.ReadOnly || a.Contained; fits != e.Match {
			t.Errorf("%s: %s: read-only %v, want %v (%s)", e.File, e.Command, fits, e.Match, a.Reason)
		}
	}
}

func TestReasonsNameTheProgram(t *testing.T) {
	for command, want := range map[string]string{
		"perl -e 1":        "perl: ",
		"curl x":           "curl: ",
		"make all":         "make: ",
		"sqlite3 x":        "sqlite3: ",
		"pip install x":    "pip install ",
		"git shortlog --x": "git shortlog: ",
		"git annotate --x": "git annotate: ",
		"podman ps --x":    "podman ps: ",
	} {
		if a := Analyze(command, nil); !strings.HasPrefix(a.Reason, want) {
			t.Errorf("%s: the reason is %q, want it to begin with %q", command, a.Reason, want)
		}
	}
}
