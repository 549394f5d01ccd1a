package shell

import (
	"testing"

	"github.com/haftdev/haft/permission/shell/grammar"
)

func TestGrammarExamples(t *testing.T) {
	for _, e := range grammar.Builtin().Examples {
		a := Analyze(e.Command, &Options{Cwd: "/home/u/proj", Home: "/home/u"})
		if a.ReadOnly != e.Match {
			t.Errorf("%s: %s: read-only %v, want %v (%s)", e.File, e.Command, a.ReadOnly, e.Match, a.Reason)
		}
	}
}
