package permission_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

// comparable makes a project with a file that a rule hides, conf/key.txt, one of its name elsewhere,
// and a repository.
func comparable(t *testing.T) realPlace {
	t.Helper()
	for _, program := range []string{"git", "diff", "sdiff"} {
		needtest.Program(t, program)
	}
	p := newRealPlace(t, "a.txt", "b.txt", "sub/key.txt", "empty/.k", "old/c.txt", "new/c.txt")
	p.shell(t, `mkdir conf && echo HIDDEN-LINE > conf/key.txt && ln -s conf lnk && ln -s ../conf/key.txt old/l
git init -q . && git config user.email a@b && git config user.name a && git add -A && git commit -qm one`)
	return p
}

// TestComparedFoldersPrintNoFileThatARuleHides runs each command for real: what prints a line of
// the hidden file is not allowed, and what compares other files is.
func TestComparedFoldersPrintNoFileThatARuleHides(t *testing.T) {
	p := comparable(t)
	deny := rule(tool.Deny, "Read(./conf/key.txt)")
	for _, command := range []string{
		"diff -N conf empty", "diff -rN . empty -x .git", "diff sub/key.txt conf", "diff conf sub/key.txt", "sdiff sub/key.txt conf", "sdiff conf sub/key.txt", "diff sub conf", "diff -N lnk empty", "diff -N con? empty",
		"diff --from-file=conf sub/key.txt", "diff --to-file conf sub/key.txt", "timeout 5 diff -N conf empty", "sh -c 'diff -N conf empty'", "diff sub/key.txt co$(echo nf)", "diff -rN new old",
		"git diff --no-index conf empty", "git diff --no-index empty conf", "git diff --no-index sub/key.txt conf", "git diff --no-index conf sub/key.txt", "git diff --no-index sub conf", "git diff --no-index conf sub", "git diff --no-index -R sub conf", "git diff --no-index . empty", "git diff conf /usr/games", "git diff /usr/games conf",
	} {
		if out := p.shell(t, command); !strings.Contains(out, "HIDDEN-LINE") {
			t.Errorf("%q does not print the file: %s", command, out)
		}
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), deny); d.Behavior == tool.Allow {
			t.Errorf("%q prints the file and is allowed: %s", command, d.Reason)
		}
	}
	for _, command := range []string{
		"diff a.txt b.txt", "diff -u a.txt b.txt", "diff -r new sub", "diff a.txt sub", "diff a.txt b.txt; ls conf", "sdiff -s a.txt b.txt", "diff sub/key.txt a.txt", "gofmt -l .", "gofmt -d src",
		"git diff --no-index a.txt b.txt", "git diff --no-index new sub", "git diff --no-index --stat a.txt b.txt", "git diff --no-index --stat conf empty",
	} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), deny); d.Behavior != tool.Allow {
			t.Errorf("%q: %s (%s), want allowed", command, d.Behavior, d.Reason)
		}
	}
	// The file that stands beside a folder is named, so that its rule counts in every mode.
	for _, command := range []string{"diff sub/key.txt conf", "sdiff conf sub/key.txt", "diff --unknown-flag sub/key.txt conf", "git diff --no-index sub/key.txt conf", "git diff --no-index sub conf", "git diff --no-index conf empty"} {
		for _, mode := range []permission.Mode{permission.Default, permission.Bypass} {
			if d := p.decide(t, mode, "Bash", bashInput(command), deny); d.Behavior != tool.Deny || d.Rule != deny.Text {
				t.Errorf("%s: %q: %s by %q (%s), want denied", mode, command, d.Behavior, d.Rule, d.Reason)
			}
			if d := p.decide(t, mode, "Bash", bashInput(command), deny); strings.Contains(d.Message, ":(exclude)") {
				t.Errorf("%q: the message %q recommends what git does not take here", command, d.Message)
			}
		}
	}
}

// TestComparedFoldersPrintNoSecret needs no rule: Read would ask about the file.
func TestComparedFoldersPrintNoSecret(t *testing.T) {
	p := comparable(t)
	p.shell(t, "echo TOKEN=1 > .env; echo TOKEN=1 > sub/.env")
	outside := newRealPlace(t, "empty/.k", "a.txt", "b.txt")
	outside.shell(t, "mkdir sub && echo TOKEN=1 > sub/.env")
	for _, command := range []string{"diff -N . empty", "diff -N sub empty", "sdiff sub/.env empty", "diff sub/key.txt $(echo sub)", "git diff --no-index . empty", "git diff --no-index sub empty", "git diff sub empty /usr/games"} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior == tool.Allow {
			t.Errorf("%q is allowed: %s", command, d.Reason)
		}
	}
	for _, command := range []string{"diff -N conf empty", "diff a.txt b.txt", "git diff --no-index conf empty", "diff -r new old"} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior != tool.Allow {
			t.Errorf("%q: %s (%s), want allowed", command, d.Behavior, d.Reason)
		}
	}
	for command, want := range map[string]tool.Behavior{"git diff sub empty": tool.Ask, "git diff --no-index sub empty": tool.Ask, "git diff a.txt b.txt": tool.Allow} {
		if d := outside.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior != want {
			t.Errorf("outside of a repository %q: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}
