package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStartDoesNoWork holds what packages do before main: a regular expression
// with classes of letters, or a table built of strings, costs every start of haft
// milliseconds. Bytes are counted and not time, because they are the same on
// every machine.
func TestStartDoesNoWork(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "haft")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const one, all, front = 160 << 10, 560 << 10, 4 << 10
	total, packages, server := 0, 0, 0
	ofServer := regexp.MustCompile(`haft/internal/(serve|page|qr|timeline|live|acp)(/|$)`)
	line := regexp.MustCompile(`^init (\S+) .* (\d+) bytes`)
	for scan := bufio.NewScanner(&trace); scan.Scan(); {
		m := line.FindStringSubmatch(scan.Text())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		packages, total = packages+1, total+n
		if ofServer.MatchString(m[1]) {
			server += n
		}
		if n > one {
			t.Errorf("%s allocates %d bytes before main; make it when it is first needed", m[1], n)
		}
	}
	if packages < 10 {
		t.Fatalf("only %d packages in the trace: is its format a new one?", packages)
	}
	if total > all {
		t.Errorf("packages allocate %d bytes before main, want at most %d", total, all)
	}
	if server > front {
		t.Errorf("haft serve and haft acp allocate %d bytes before main of every command, want at most %d", server, front)
	}
	t.Logf("%d packages allocate %d bytes before main, %d of them for haft serve and haft acp", packages, total, server)
}

// TestNoEngineInside holds that the fleet is a program of its own: those who run haft on one
// machine have nothing of it, neither in size nor at the start.
func TestNoEngineInside(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, name := range packages {
		if strings.HasPrefix(name, "github.com/nats-io/") || strings.HasPrefix(name, "github.com/haftdev/haft/fleet") {
			t.Errorf("haft imports %s", name)
		}
	}
	if !slices.Contains(packages, "github.com/haftdev/haft/internal/cli") {
		t.Errorf("the list of packages is not that of haft: %d packages", len(packages))
	}
}
