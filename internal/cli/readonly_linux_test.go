package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/needtest"
)

// TestReadOnlyCommandsThroughOurBash runs commands of the corpus that only read, by
// haft's own Bash, in a repository that wants to run its own programs: no marker
// appears, nobody outside is connected to. One in eight runs by default, all with
// HAFT_NIGHTLY.
func TestReadOnlyCommandsThroughOurBash(t *testing.T) {
	strace := needtest.Program(t, "strace")
	base := t.TempDir()
	haft, repo := filepath.Join(base, "haft"), filepath.Join(base, "repo")
	if out, err := exec.Command("go", "build", "-o", haft, "../../cmd/haft").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	evilRepository(t, repo)
	every := 8
	if os.Getenv("HAFT_NIGHTLY") != "" {
		every = 1
	}
	outside := regexp.MustCompile(`connect\(.*AF_INET6?.*`)
	for i, command := range readingCommands(t) {
		if i%every != 0 {
			continue
		}
		input, err := json.Marshal(map[string]any{"command": command, "timeout": 20_000})
		if err != nil {
			t.Fatal(err)
		}
		trace := filepath.Join(base, "trace")
		cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=connect", "-o", trace, haft, "tools", "call", "Bash", string(input))
		cmd.Dir = repo
		cmd.Env = []string{"HOME=" + filepath.Join(base, "home"), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-never"}
		out, _ := cmd.CombinedOutput() // many fail for want of a file; that is no matter here
		if strings.Contains(string(out), "ptrace") && strings.Contains(string(out), "strace:") {
			t.Skipf("strace may not trace here: %s", out)
		}
		if _, err := os.Stat(filepath.Join(base, "pwned")); err == nil {
			t.Fatalf("%q ran a program of the repository", command)
		}
		if strings.Contains(string(out), "sk-never") {
			t.Errorf("%q printed a key", command)
		}
		// These may ask the person's own service.
		if ownService.MatchString(command) {
			continue
		}
		if text, _ := os.ReadFile(trace); outside.Match(text) {
			t.Errorf("%q connects: %s", command, outside.Find(text))
		}
	}
}

var ownService = regexp.MustCompile(`\b(gh|kubectl|docker)\b`)

func readingCommands(t *testing.T) (commands []string) {
	t.Helper()
	file, err := os.Open("../shell/testdata/bash.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Cmd      string
			ReadOnly bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.ReadOnly {
			commands = append(commands, c.Cmd)
		}
	}
	return commands
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
git add -A && git commit -qm one && echo changed >> README.md
for key in core.fsmonitor core.pager core.editor core.sshCommand core.hooksPath gpg.program filter.evil.clean filter.evil.smudge diff.evil.textconv pager.log pager.diff credential.helper; do
  git config "$key" 'touch ../pwned; cat'
done
git config log.showSignature true`
	if out, err := exec.Command("bash", "-c", script, "bash", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
