package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestWordsAreThoseOfBash compares the words of every command of the corpora that needs no shell with what bash makes
// of its text.
func TestWordsAreThoseOfBash(t *testing.T) {
	bash := needtest.Program(t, "bash")
	commands := []string{"cat 'a b' \"c d\" e\\ f", "grep -n 'x*y' {a,b}.go", "ls -la -- -x", "cat ''", `grep "\$HOME" a`, "grep $'a\\tb' c"}
	for _, file := range []string{"bash", "holes", "redteam", "secondattack"} {
		for _, l := range labels(t, "testdata/"+file+".jsonl") {
			commands = append(commands, l.Cmd)
		}
	}
	var script strings.Builder
	var want [][]string
	for _, opts := range settings {
		for _, command := range commands {
			if a := Analyze(command, opts); a.Words != nil {
				if !a.ReadOnly {
					t.Errorf("%s: there are words of a command that does more than read", command)
				}
				want = append(want, a.Words)
				script.WriteString("set -- " + a.Run + "\nprintf '%s\\0' \"$@\"\nprintf '\\1\\0'\n")
			}
		}
	}
	cmd := exec.Command(bash, "--norc", "--noprofile")
	cmd.Stdin, cmd.Dir, cmd.Env = strings.NewReader(script.String()), t.TempDir(), []string{"HOME=/home/u", "HISTFILE="}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Split(strings.TrimSuffix(string(out), "\x01\x00"), "\x01\x00")
	if len(found) != len(want) || len(want) < 200 {
		t.Fatalf("bash read %d commands of %d, want at least 200", len(found), len(want))
	}
	for i, words := range want {
		if got := strings.Split(strings.TrimSuffix(found[i], "\x00"), "\x00"); !slices.Equal(got, words) {
			t.Errorf("bash has %q, the analysis %q", got, words)
		}
	}
}

// TestSomeCommandsNeedTheShell names what bash alone can do.
func TestSomeCommandsNeedTheShell(t *testing.T) {
	for _, command := range []string{
		"cat a | head", "cat a; cat b", "cat a && ls", "cat <a", "cat a 2>/dev/null", "! cat a", "LANG=C cat a", "cat *.go", "cat $HOME", "echo a", "pwd", "test -f a", "(cat a)", "{ cat a; }",
		"cat $(ls)", "time cat a", "true", "if ls; then ls; fi",
	} {
		if a := Analyze(command, settings["knowing the place"]); a.Words != nil {
			t.Errorf("%s: words %q", command, a.Words)
		}
	}
}
