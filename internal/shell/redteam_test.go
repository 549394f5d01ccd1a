package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRedTeam runs the commands of an attack on these verdicts in a project as the
// attack had it: none that does harm is taken for read-only, and every control is
// still recognised.
func TestRedTeam(t *testing.T) {
	with, without := attackedProject(t, true), attackedProject(t, false)
	for _, file := range []string{"testdata/redteam.jsonl", "testdata/secondattack.jsonl"} {
		for _, l := range labels(t, file) {
			opts := without
			if l.Class == "link-in-glob" {
				opts = with
			}
			if a := Analyze(l.Cmd, opts); a.ReadOnly != l.ReadOnly {
				t.Errorf("%s: %q: read-only %v, want %v: %s (%s)", l.Class, l.Cmd, a.ReadOnly, l.ReadOnly, l.Why, a.Reason)
			}
		}
	}
}

// attackedProject makes the project of the attack: a list that names a key, words that
// become flags and programs and, if they are wanted, links to the key.
func attackedProject(t testing.TB, links bool) *Options {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := `set -e
mkdir -p repo/d repo/e repo/src home/.ssh && echo 'KEY SECRET' > home/.ssh/id_rsa && cd repo
for f in a b c x.txt README.md main.go; do echo "$f TODO" > $f; done
echo "$HOME/.ssh/id_rsa" > files.txt
[ -z "$LINKS" ] || ln -s ../home/.ssh/id_rsa notes.md; [ -z "$LINKS" ] || ln -s ../../home/.ssh/id_rsa d/x.txt; [ -z "$LINKS" ] || ln -s ../../home/.ssh d/link
echo 'c --diff-program=./evil' > list; echo '5 ./evil' > t; echo '{}' > j.json
printf '#!/bin/sh\ntouch PWNED\n' > evil; chmod +x evil; : > 5
git init -q .`
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = top, append(os.Environ(), "HOME="+filepath.Join(top, "home"))
	if links {
		cmd.Env = append(cmd.Env, "LINKS=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	repo := filepath.Join(top, "repo")
	return &Options{Cwd: repo, Home: filepath.Join(top, "home"), Roots: []string{repo}, FS: OS{}}
}

// TestCorpusInAPlainProject judges the corpus where the file system is known and
// holds nothing hostile: what only reads is recognised there, too.
func TestCorpusInAPlainProject(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(top, "repo")
	for _, dir := range []string{"src", "docs"} {
		if err := os.MkdirAll(filepath.Join(repo, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"README.md", "main.go", "go.mod", "a.txt", "b.txt", "data.csv", "server.log", "src/main.js", "docs/a.md"} {
		if err := os.WriteFile(filepath.Join(repo, file), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := &Options{Cwd: repo, Home: filepath.Join(top, "home"), Roots: []string{repo}, FS: OS{}}
	right, all := 0, 0
	for _, l := range corpus(t) {
		a := Analyze(l.Cmd, opts)
		if a.ReadOnly && !l.ReadOnly {
			t.Errorf("taken for read-only: %s: %q, but %s", l.Class, l.Cmd, l.Why)
		}
		if l.ReadOnly {
			if all++; a.ReadOnly {
				right++
			} else {
				t.Logf("not recognised: %s: %q: %s", l.Class, l.Cmd, a.Reason)
			}
		}
	}
	if 100*right < 97*all {
		t.Errorf("%d of %d read-only commands are recognised, want 97 %%", right, all)
	}
	t.Logf("%d of %d read-only commands are recognised", right, all)
}
