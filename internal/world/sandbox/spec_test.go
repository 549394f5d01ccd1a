package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSeatbelt(t *testing.T) {
	s := &Spec{
		Write: []string{`/Users/a/pro"ject`}, Protect: []string{`/Users/a/pro"ject/.git/hooks`}, Hide: []string{"/Users/a/.ssh"}, KeepSignals: true,
	}
	got, err := s.seatbelt("/private/tmp/haft", 3128)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got, "\n")
	at := func(line string) int {
		i := slices.Index(lines, line)
		if i < 0 {
			t.Errorf("the profile lacks %s", line)
		}
		return i
	}
	if at("(version 1)") != 0 || at("(deny default)") != 1 {
		t.Error("it does not begin with denying all")
	}
	write := at(`(allow file-write* (subpath "/Users/a/pro\"ject"))`)
	if at(`(deny file-write* (subpath "/Users/a/pro\"ject/.git/hooks"))`) < write {
		t.Error("a protected path is allowed again by a later rule")
	}
	if at(`(deny file-read* file-write* (subpath "/Users/a/.ssh"))`) < at("(allow file-read*)") {
		t.Error("a hidden path is allowed again by a later rule")
	}
	at(`(allow network-outbound (remote ip "localhost:3128"))`)
	at(`(allow network-bind (local ip "localhost:*"))`)
	at(`(allow file-write* (subpath "/private/tmp/haft"))`)
	if slices.Contains(lines, "(allow network*)") {
		t.Error("the network is open")
	}
	if strings.Count(got, "(") != strings.Count(got, ")") {
		t.Errorf("parentheses do not match:\n%s", got)
	}
	open, err := (&Spec{Network: Open}).seatbelt("/tmp/x", 0)
	if err != nil || !strings.Contains(open, "(allow network*)") {
		t.Errorf("an open network: %v\n%s", err, open)
	}
	if _, err := (&Spec{Layers: []Layer{{Dir: "/a", Upper: "/b", Work: "/c"}}}).seatbelt("/tmp/x", 0); err == nil {
		t.Error("a layer that macOS cannot have was accepted")
	}
}

func TestCheckRefusesPathsThatMeanSomethingElse(t *testing.T) {
	for _, path := range []string{"", "a", "./a", "/a/../b", "/a/", "//a"} {
		for _, s := range []*Spec{{Write: []string{path}}, {Read: []string{path}}, {Hide: []string{path}}, {Protect: []string{path}}, {Scratch: []string{path}}, {Layers: []Layer{{Dir: path, Upper: "/u", Work: "/w"}}}} {
			if s.Check() == nil {
				t.Errorf("%q was accepted in %+v", path, s)
			}
		}
	}
	if err := (&Spec{Write: []string{"/a"}, Network: Proxied}).Check(); err != nil {
		t.Error(err)
	}
	if (&Spec{Network: 9}).Check() == nil {
		t.Error("a network that does not exist was accepted")
	}
}

func TestResolveKeepsWhatDoesNotExist(t *testing.T) {
	dir := Resolve(t.TempDir())[0]
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got := Resolve(filepath.Join(dir, "link/missing/file"), filepath.Join(dir, "real/missing/file"), filepath.Join(dir, "link"))
	if want := []string{filepath.Join(dir, "real/missing/file"), filepath.Join(dir, "real")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppArmorProfileNamesTheProgram(t *testing.T) {
	if got := appArmorProfile(`/opt/a "b"/haft`); !strings.Contains(got, `profile haft "/opt/a \"b\"/haft" flags=(unconfined)`) || !strings.Contains(got, "userns,") {
		t.Errorf("got %s", got)
	}
}
