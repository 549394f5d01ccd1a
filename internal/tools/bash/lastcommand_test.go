package bash

import (
	"strings"
	"testing"
	"time"
)

func TestExitCodesThatAreAnswers(t *testing.T) {
	for _, c := range []struct {
		command, output string
		code            int
		want            string
	}{
		{"grep x f", "", 1, "No matches found"},
		{"grep x f", "grep: f: No such file", 2, ""},
		{"/usr/bin/grep x f", "", 1, "No matches found"},
		{"cat f | grep x", "", 1, "No matches found"},
		{"cat f | grep x | head", "", 1, ""},
		{"make; grep x f", "", 1, ""},
		{"make && grep x f", "", 1, ""},
		{"cd d && grep x f", "", 1, "No matches found"},
		{"cd d && echo hi && rg x", "hi", 1, "No matches found"},
		{"cd d && grep x f", "bash: line 1: cd: d: No such file or directory", 1, ""},
		{"make || grep x f", "", 1, ""},
		{"! grep x f", "", 1, ""},
		{"grep x f &", "", 1, ""},
		{"set -o pipefail; make | grep x", "", 1, ""},
		{"(cd d; grep x f)", "", 1, ""},
		{"{ grep x f; }", "", 1, ""},
		{"time grep x f", "", 1, "No matches found"},
		{"LC_ALL=C grep x f", "", 1, "No matches found"},
		{"if true; then grep x f; fi", "", 1, ""},
		{"$cmd x", "", 1, ""},
		{"diff a b", "1c1", 1, "Files differ"},
		{"diff a b", "diff: a: No such file", 2, ""},
		{"cmp a b", "", 1, "Files differ"},
		{"git diff --exit-code", "", 1, "There are differences"},
		{"git grep x", "", 1, "No matches found"},
		{"git push", "", 1, ""},
		{"test -f x", "", 1, "Condition is false"},
		{"[ -f x ]", "", 1, "Condition is false"},
		{"[[ -f x ]]", "", 1, "Condition is false"},
		{"find / -name x", "/x\nfind: '/root': Permission denied", 1, "Some directories were inaccessible"},
		{"command -v nothing", "", 1, "Not found"},
		{"go test ./...", "FAIL", 1, ""},
		{"cd d && cat f | grep x", "", 1, "No matches found"},
		{"set -e; false; grep x f", "", 1, ""},
		{"test -f nope || exit 1; grep x f", "", 1, ""},
		{"cd d 2>/dev/null && grep x f", "", 1, ""},
		{"x=$(false) && grep x f", "", 1, ""},
		{"export x=$(false) && grep x f", "", 1, ""},
		{"grep x f 2>/dev/null", "", 1, "No matches found"},
		{"grep x f >out", "", 1, "No matches found"},
		{"grep x f >no/such/out", "bash: line 1: no/such/out: No such file or directory", 1, ""},
		{"grep x 2>/dev/null <no-such", "", 1, ""},
		{"grep x &>/dev/null <no-such", "", 1, ""},
		{"grep x <<<y 2>/dev/null", "", 1, "No matches found"},
		{"git diff --quiet", "", 1, "There are differences"},
		{"git -C d --no-pager diff --quiet", "", 1, "There are differences"},
		{"git checkout --quiet nosuch", "error: pathspec 'nosuch' did not match", 1, ""},
		{"git commit --quiet -m diff", "", 1, ""},
		{"git commit -m grep", "nothing to commit", 1, ""},
		{"systemctl is-active x", "inactive", 3, "The unit is not active"},
		{"find . -nosuch", "find: unknown predicate `-nosuch'", 1, ""},
		{"find /nonexistent /root", "find: '/nonexistent': No such file or directory\nfind: '/root': Permission denied", 1, ""},
		{"find . -exec false {} +", "", 1, ""},
		{"find . -exec false {} +", "find: '/root': Permission denied", 1, ""},
		{"fd x", "", 1, ""},
		{"if", "", 1, ""},
		{"", "", 1, ""},
	} {
		if got := lastCommand(c.command).meaning(c.code, c.output); got != c.want {
			t.Errorf("%q with exit code %d: %q, want %q", c.command, c.code, got, c.want)
		}
	}
}

func FuzzLastCommand(f *testing.F) {
	f.Add("cd a && { grep x; } | (cat) || ! true")
	f.Add("grep x <<E 2>f >&2 <>g && >h && a=b\nE\n")
	f.Add("time; function f { :; }; coproc x")
	f.Fuzz(func(_ *testing.T, command string) {
		lastCommand(command).meaning(1, "")
		parseSed(command)
	})
}

// The parser recurses, and a stack that is used up ends the harness.
func TestDeepNestingHarmsNobody(t *testing.T) {
	for _, open := range []string{
		"(", "{ ", "$(", "`", "$((", "if ", "! ", "[[ (", "\"$(", "a=(", "case x in a) ", "while ", "${a:-", "x|", "x&&",
	} {
		for _, size := range []int{maxParsed, 4 << 20} {
			start := time.Now()
			command := strings.Repeat(open, size/len(open))
			lastCommand(command)
			parseSed("sed -i s/a/b/ " + command)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%q in %d bytes takes %v", open, size, took)
			}
		}
	}
}
