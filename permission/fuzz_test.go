package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/tool"
)

// FuzzDecide judges any command in a project on the disk, with rules of every kind: it
// never panics, and a deny rule for every command denies each.
func FuzzDecide(f *testing.F) {
	for _, file := range []string{"bash.jsonl", "redteam.jsonl", "secondattack.jsonl"} {
		data, err := os.Open("../internal/shell/testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		lines := bufio.NewScanner(data)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c struct{ Cmd string }
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				f.Fatal(err)
			}
			f.Add(c.Cmd)
		}
		data.Close()
	}
	for _, command := range []string{"cat <<EOF > f.txt;\n", "cat <<EOF", "eval 'x=rm; $x target\n)'", "eval 'cat <<E\nx\nE\nrm x\n)'", "$(<<a", "cp -t", "cp -r . .", "a[$(", "${x[@]:-<<E}"} {
		f.Add(command)
	}
	dir := f.TempDir()
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: dir})
	if err != nil {
		f.Fatal(err)
	}
	judge := func(command string, mode permission.Mode, rules ...permission.Rule) permission.Decision {
		input, err := json.Marshal(map[string]any{"command": command})
		if err != nil {
			f.Fatal(err)
		}
		return permission.NewPolicy(permission.Options{Mode: mode, Rules: rules, Guard: g, Home: dir}).Decide(called("Bash", input))
	}
	some := []permission.Rule{rule(tool.Deny, "Bash(rm -rf:*)"), rule(tool.Ask, "Read(./.env)"), rule(tool.Allow, "Bash(git:*)"), rule(tool.Deny, "Edit(src/**)")}
	f.Fuzz(func(t *testing.T, command string) {
		judge(command, permission.Default, some...)
		judge(command, permission.AcceptEdits, some...)
		if d := judge(command, permission.Bypass, rule(tool.Deny, "Bash")); d.Behavior != tool.Deny {
			t.Errorf("%q: %s under a rule that denies every command", command, d.Behavior)
		}
	})
}
