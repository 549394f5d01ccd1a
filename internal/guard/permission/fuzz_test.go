package permission_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// FuzzDecide judges any command in a project on the disk, with rules of every kind: it
// never panics, and a deny rule for every command denies each.
func FuzzDecide(f *testing.F) {
	commands := attackCommands(f)
	for i := 0; i < len(commands); i += needtest.Every(8) {
		f.Add(commands[i])
	}
	judge := newJudge(f)
	f.Fuzz(func(t *testing.T, command string) { judge(t, command) })
}

// TestDecideOnMutations does the same with commands of the corpora that are cut,
// spliced and sown with the shell's own characters. HAFT_FUZZ=10m makes it long.
func TestDecideOnMutations(t *testing.T) {
	commands, judge := attackCommands(t), newJudge(t)
	limit, seed := 300*time.Millisecond, uint64(1)
	if text := os.Getenv("HAFT_FUZZ"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		seed = uint64(time.Now().UnixNano())
	}
	r := rand.New(rand.NewPCG(seed, 0))
	n := 0
	for begin := time.Now(); time.Since(begin) < limit; n++ {
		judge(t, mutated(r, commands))
	}
	t.Logf("%d commands in %s, seed %d", n, limit, seed)
}

var shellTokens = []string{"$(", ")", "`", "${", "}", "<<E\n", "\nE\n", "<<'E'\n", "<(", ">", ">>", "&", "&&", "||", ";", "|", "\n", "\\\n", "'", "\"", "$'", "*", "?", "[", "]", "{a,b}", "~", "-", "--", "=", "eval ", "sh -c ", "xargs ", "for f in ", "; do ", "done", "if ", "case x in ", "((", "))", "[[", "]]", "\x00", "\xff", "é", "$x", "$@", "!", "#"}

// mutated returns a command that is made of others.
func mutated(r *rand.Rand, commands []string) string {
	c := commands[r.IntN(len(commands))]
	for range 1 + r.IntN(5) {
		at := r.IntN(len(c) + 1)
		switch r.IntN(4) {
		case 0:
			c = c[:at] + shellTokens[r.IntN(len(shellTokens))] + c[at:]
		case 1:
			c = c[:at] + c[min(len(c), at+1+r.IntN(4)):]
		case 2:
			other := commands[r.IntN(len(commands))]
			c = c[:at] + other[r.IntN(len(other)+1):]
		case 3:
			c = c[:at] + string(rune(r.IntN(256))) + c[at:]
		}
	}
	return c
}

// attackCommands are those of the corpora, and some that were once too much.
func attackCommands(t testing.TB) []string {
	t.Helper()
	list := []string{"cat <<EOF > f.txt;\n", "cat <<EOF", "eval 'x=rm; $x target\n)'", "eval 'cat <<E\nx\nE\nrm x\n)'", "$(<<a", "cp -t", "cp -r . .", "a[$(", "${x[@]:-<<E}"}
	for _, file := range []string{"bash.jsonl", "redteam.jsonl", "secondattack.jsonl"} {
		data, err := os.ReadFile("../../shell/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var c struct{ Cmd string }
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			list = append(list, c.Cmd)
		}
	}
	return list
}

// newJudge returns what judges a command in several ways.
func newJudge(t testing.TB) func(testing.TB, string) {
	t.Helper()
	dir := t.TempDir()
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	some := []permission.Rule{rule(tool.Deny, "Bash(rm -rf:*)"), rule(tool.Ask, "Read(./.env)"), rule(tool.Allow, "Bash(git:*)"), rule(tool.Deny, "Edit(src/**)")}
	policies := []*permission.Policy{
		permission.NewPolicy(permission.Options{Mode: permission.Bypass, Rules: []permission.Rule{rule(tool.Deny, "Bash")}, Guard: g, Home: dir}),
		permission.NewPolicy(permission.Options{Rules: some, Guard: g, Home: dir}),
		permission.NewPolicy(permission.Options{Mode: permission.AcceptEdits, Rules: some, Guard: g, Home: dir}),
	}
	return func(t testing.TB, command string) {
		defer func() {
			if p := recover(); p != nil {
				t.Fatalf("%q: panic: %v\n%s", command, p, debug.Stack())
			}
		}()
		input, err := json.Marshal(map[string]any{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range policies {
			if d := p.Decide(called("Bash", input)); i == 0 && d.Behavior != tool.Deny {
				t.Errorf("%q: %s under a rule that denies every command", command, d.Behavior)
			}
		}
	}
}
