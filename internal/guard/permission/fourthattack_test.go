package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

// TestFourthAttack judges commands whose labels were given before the verdicts were
// seen, in a repository with hostile files, links and settings: "asks" do harm in it or
// would with another set-up, "reads" are controls that stay allowed. Home is written ~u.
func TestFourthAttack(t *testing.T) {
	needtest.Program(t, "git")
	p := newRealPlace(t, "a", "b", "c", "main.go", "src/b.go", "j.json", "evil.awk", "evil.sed", "evil.jq", "list", "t", "sha", "x.tar", "x.zip", "a.gz", "cert.pem", "bin/ls", "node_modules/.bin/jq", "rgrc", "gitcfg", "evil.patch", "sub/x", "evilrepo/x", "d/y", "go.mod", "evil.py", "evil.mk", "Makefile", "a.yaml")
	p.shell(t, `git init -q . && git config user.email a@b && git config user.name a && git config pretty.evil '%G?'
printf '#!/bin/sh\ntouch PWNED\n' > evil; chmod +x evil bin/ls node_modules/.bin/jq; echo "$HOME/.ssh/id_rsa" > list; echo '5 ./evil' > t
ln -s ../home/.ssh/id_rsa notes.md; ln -s ../../home/.ssh d/link
git add -A && git commit -qm one; echo SECRET=1 > .env; (cd evilrepo && git init -q . && git config core.pager ./evil)`)
	for _, name := range []string{"fourthattack", "outsideattack"} {
		p.holdsAgainst(t, "testdata/"+name+".jsonl")
	}
}

// modesFor are the modes in which the nth command of a corpus is judged: the default one, and
// the others for a part of them unless everything runs.
func modesFor(n int, others ...permission.Mode) []permission.Mode {
	modes := []permission.Mode{permission.Default}
	if n%needtest.Every(8) == 0 {
		modes = append(modes, others...)
	}
	return modes
}

// holdsAgainst judges the commands of a file in the modes that ask and those that do not.
func (p *realPlace) holdsAgainst(t *testing.T, name string) {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	harmful, controls := 0, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c struct{ Cmd, Label string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		command := strings.ReplaceAll(c.Cmd, "/home/u/", p.home+"/")
		if c.Label == "needless" { // asked about although it only reads
			continue
		}
		for _, mode := range modesFor(harmful+controls, permission.Plan, permission.DontAsk) {
			d := p.decide(t, mode, "Bash", bashInput(command))
			if allowed := d.Behavior == tool.Allow; allowed != (c.Label == "reads") {
				t.Errorf("mode %s: %q is labelled %q: %s (%s)", mode, command, c.Label, d.Behavior, d.Reason)
			}
		}
		if c.Label == "reads" {
			controls++
		} else {
			harmful++
		}
	}
	t.Logf("%s: %d harmful commands, %d controls", name, harmful, controls)
}
