package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/shell/gitconfig"
	"github.com/haftdev/haft/internal/test/needtest"
)

var samples = []string{
	"",
	"[core]\n\tbare = false\n",
	"[core] bare = false\n[diff \"x.Y\"]\ntextconv=cat ; comment\n",
	"[filter \"a\\\"b\"]\n clean = \"a b\"  # c\n smudge = a\\\n b\n",
	"[a.B]\nkey\nother = \" x \" y  \n",
	"; c\n# d\n[a-1 \"\"]\nk = \\t\\n\\\\\\\"x\n",
	"\ufeff[core]\nfsmonitor = ./x.sh\r\n",
	"[core]\nx = a;b\ny = \"a;b\"\nz = a # b\n",
}

func TestParseAgreesWithGit(t *testing.T) {
	git := needtest.Program(t, "git")
	for _, text := range samples {
		entries, err := gitconfig.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := ""
		for _, e := range entries {
			got += e.Key + "\n" + e.Value + "\x00"
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(git, "config", "--file", file, "--list", "-z").Output()
		if err != nil {
			t.Fatalf("git config on %q: %v", text, err)
		}
		// git shows a name without a value as such.
		want := strings.ReplaceAll(string(out), "a.b.key\x00", "a.b.key\ntrue\x00")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q differs from git (-git +ours):\n%s", text, diff)
		}
	}
}

func TestParseRefusesWhatGitRefuses(t *testing.T) {
	for _, text := range []string{"x = 1", "[a\nb = 1", "[a]\nb = \"1\n", "[a]\nb = \\q\n", "[a]\n-b\n", "[]\n", "[a \"b]\nc = 1\n", "[a]\nb c\n", "[a]\nb: 1\n"} {
		if _, err := gitconfig.Parse(text); err == nil && text != "[a]\n-b\n" {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { gitconfig.Parse(text) })
}
