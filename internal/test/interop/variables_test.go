package interop_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"
)

var (
	// usedVariable is how the reference reads a variable of its environment.
	usedVariable = regexp.MustCompile(`process\.env\.([A-Z][A-Z0-9_]{3,})\b`)
	// ownVariable is the name of a variable of its own, not one of node, a cloud or the system.
	ownVariable = regexp.MustCompile(`^(ANTHROPIC|CLAUDE|CLAUDECODE|DISABLE|ENABLE|MCP|BASH|MAX|SLASH|TASK|API|USE|FALLBACK|CCR)(_|$)`)
)

// TestNoVariableIsIgnoredInSilence reads the names of the reference's variables from its program:
// haft honours each, or knows it for one to name in a warning.
func TestNoVariableIsIgnoredInSilence(t *testing.T) {
	program, err := os.ReadFile(reference(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for at := 0; ; {
		i := bytes.Index(program[at:], []byte("process.env."))
		if i < 0 {
			break
		}
		at += i
		m := usedVariable.FindSubmatch(program[at:min(at+100, len(program))])
		if m != nil && ownVariable.Match(m[1]) {
			names = append(names, string(m[1]))
		}
		at += len("process.env.")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 100 {
		t.Fatalf("found only %d variables", len(names))
	}
	honoured := 0
	for _, name := range names {
		if slices.ContainsFunc(project.Variables(), func(v project.Variable) bool { return v.Name == name }) {
			honoured++
		} else if !project.Foreign(name) {
			t.Errorf("haft ignores %s without a warning", name)
		}
	}
	t.Logf("%d variables, of which the table has %d", len(names), honoured)
}
