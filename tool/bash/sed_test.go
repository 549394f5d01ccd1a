package bash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/needtest"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

func TestPlainSedIsRecognised(t *testing.T) {
	const text = "foo bar\nfoo.foo /usr/lib x+y (z)\n"
	for _, c := range []struct{ command, want string }{
		{`sed -i 's/foo/X/' f`, "X bar\nX.foo /usr/lib x+y (z)\n"},
		{`sed -i 's/foo/X/g' f`, "X bar\nX.X /usr/lib x+y (z)\n"},
		{`sed -i "s/FOO/X/gI" f`, "X bar\nX.X /usr/lib x+y (z)\n"},
		{`sed -i -e 's|/usr/lib|/opt|' f`, "foo bar\nfoo.foo /opt x+y (z)\n"},
		{`sed -i 's/\/usr\/lib/\/opt/' f`, "foo bar\nfoo.foo /opt x+y (z)\n"},
		{`sed -E -i 's/(fo+) (bar)/\2 \1/' f`, "bar foo\nfoo.foo /usr/lib x+y (z)\n"},
		{`sed -i 's/\(fo*\)\.\(fo*\)/[&] \2\1/' f`, "foo bar\n[foo.foo] foofoo /usr/lib x+y (z)\n"},
		{`sed -i 's/x+y/sum/' f`, "foo bar\nfoo.foo /usr/lib sum (z)\n"},
		{`sed --in-place 's/^foo/a\nb/' 'f'`, "a\nb bar\na\nb.foo /usr/lib x+y (z)\n"},
		{`sed -i 's/[a-z.]*$//' f`, ""},
		{`sed -i 's/bar$/\&/' f`, "foo &\nfoo.foo /usr/lib x+y (z)\n"},
		{`sed -i s/foo/X/ f`, "X bar\nX.foo /usr/lib x+y (z)\n"},
	} {
		sub, ok := parseSed(c.command)
		if !ok {
			if c.want != "" {
				t.Errorf("%s: not recognised", c.command)
			}
			continue
		}
		if got, err := sub.apply(text); err != nil || got != c.want || sub.file != "f" {
			t.Errorf("%s on %q: %q, %v, want %q", c.command, sub.file, got, err, c.want)
		}
	}
}

func TestOtherSedIsNotRecognised(t *testing.T) {
	for _, command := range []string{
		`sed 's/a/b/' f`, `sed -i.bak 's/a/b/' f`, `sed -i 's/a/b/' f g`, `sed -i 's/a/b/'`, `sed -n -i 's/a/b/p' f`, `sed -i 's/a/b/e' f`, `sed -i 's/a/b/w out' f`,
		`sed -i 's/a/b/; s/c/d/' f`, `sed -i '1s/a/b/' f`, `sed -i '/x/s/a/b/' f`, `sed -i 's/a\|b/c/' f`, `sed -E -i 's/a|b/c/' f`, `sed -i 's/a*/b/' f`, `sed -i 's/a\{2\}/b/' f`,
		`sed -i 's/\w/b/' f`, `sed -i 's/[[:alpha:]]/b/' f`, `sed -i 's/a/\U&/' f`, `sed -i 's/\(a\)\1/b/' f`, `sed -i 's/a/\1/' f`, `sed -i "s/a/$x/" f`, `sed -i 's/a/b/' $f`, `sed -i 's/a/b/' *.c`,
		`sed -i 's/a/b/' f > out`, `sed -i 's/a/b/' f &`, `sed -i 's/a/b/' f && rm f`, `sed -i 's/a/b/' f; rm f`, `X=1 sed -i 's/a/b/' f`, `! sed -i 's/a/b/' f`, `(sed -i 's/a/b/' f)`, `sed -iE 's/a/b/' f`,
		"sed -i 's/a/b/' f # \\\nrm x", "sed -i 's/a/b/' f \r; rm x", `sed -i 's/a/b/' ~/f`, `sed -i 's/(a)*/b/' f -E`, `sed -i -E 's/(ab)+/b/' f`, `sed -i y/a/b/ f`, `sed -i --follow-symlinks 's/a/b/' f`, `sed -i 's/a/b/' {f,g}`,
	} {
		if sub, ok := parseSed(command); ok {
			t.Errorf("%s: recognised, file %q", command, sub.file)
		}
	}
}

// TestSubstitutionsAreThoseOfSed compares random substitutions on random texts
// with sed itself.
func TestSubstitutionsAreThoseOfSed(t *testing.T) {
	sed := needtest.Program(t, "sed")
	if out, _ := exec.Command(sed, "--version").Output(); !strings.Contains(string(out), "GNU sed") {
		needtest.Missing(t, "GNU sed is not installed")
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	file := filepath.Join(t.TempDir(), "f")
	recognised := 0
	for range 1500 {
		var re, with, text strings.Builder
		for range 1 + random.IntN(6) {
			re.WriteString(pick("a", "b", "ab", ".", "[ab]", "[^a]", "[a-c]", "*", `\+`, `\?`, `\(`, `\)`, "+", "?", "(", ")", "^", "$", `\.`, `\/`, "{", " ", "]", "-", `\t`, "é", "|"))
		}
		for range random.IntN(4) {
			with.WriteString(pick("x", "&", `\&`, `\1`, `\2`, `\n`, `\\`, "é", "/", `\t`, "[", "$1"))
		}
		for range random.IntN(12) {
			text.WriteString(pick("a", "b", "c", "ab", "aa", "\n", ".", "+", "(", ")", "/", " ", "-", "]", "{", "\t", "|", "\r\n"))
		}
		if random.IntN(4) == 0 {
			text.WriteString("é\n")
		}
		script := strings.ReplaceAll("s%"+re.String()+"%"+with.String()+"%", "%", pick("/", "|", ",")) + pick("", "g", "I", "gi")
		extended := random.IntN(2) == 0
		sub, ok := parseSubstitution(script, extended)
		if !ok {
			continue
		}
		got, err := sub.apply(text.String())
		if err != nil {
			continue
		}
		recognised++
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"-i", "-e", script, file}
		if extended {
			args = append([]string{"-E"}, args...)
		}
		cmd := exec.Command(sed, args...)
		cmd.Env = append(os.Environ(), "LC_ALL="+pick("C", "C.UTF-8"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sed %q on %q fails: %s; we make %q", args, text.String(), out, got)
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("sed %q on %q: we make %q, sed %q", args, text.String(), got, want)
		}
	}
	if recognised < 150 {
		t.Errorf("only %d substitutions were recognised: the test sees too little", recognised)
	}
}

// A sed -i goes to the person as a diff, and to the edit pipeline when it is
// approved.
func TestSedIsShownAndAppliedAsAnEdit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.txt")
	if err := os.WriteFile(file, []byte("one two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var applied []string
	edit := &Edit{
		Preview: func(_ context.Context, path string, change func(string) (string, error)) (string, string, string, error) {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", "", "", err
			}
			after, err := change(string(data))
			return string(data), after, "-one two\n+one 2\n", err
		},
		Apply: func(_ context.Context, path, base, newText string) error {
			applied = append(applied, path, base, newText)
			return nil
		},
	}
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	defer host.Close()
	tools := New(host, &Options{Dir: dir, Edit: edit})
	bash := tools.bash()
	call := &tool.Call{Tool: "Bash", Input: []byte(`{"command":"sed -i s/two/2/ f.txt"}`)}
	verdict := bash.Permission(t.Context(), call)
	if verdict.Behavior != tool.Ask || verdict.Message != "The command edits "+file+":\n-one two\n+one 2\n" {
		t.Fatalf("verdict %+v", verdict)
	}
	if data, _ := os.ReadFile(file); string(data) != "one two\n" {
		t.Error("the file was changed before anybody agreed")
	}
	result, err := bash.Run(t.Context(), call.WithInput(verdict.Input))
	if err != nil || result.Failed || result.Text() != "(Bash completed with no output)" {
		t.Errorf("result %+v, %v", result, err)
	}
	sum := sha256.Sum256([]byte("one two\n"))
	if diff := cmp.Diff([]string{file, hex.EncodeToString(sum[:]), "one 2\n"}, applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	for _, other := range []string{`{"command":"sed -i s/two/2/ missing"}`, `{"command":"sed -i s/two/2/ f.txt; true"}`, `{"command":"ls"}`} {
		if v := bash.Permission(t.Context(), &tool.Call{Input: []byte(other)}); v.Behavior != tool.NoView || v.Input != nil {
			t.Errorf("%s: verdict %+v", other, v)
		}
	}
}

func TestASedEditThatCannotBeMadeSaysWhy(t *testing.T) {
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	defer host.Close()
	input := []byte(`{"command":"sed -i s/a/b/ f","_sedEdit":{"filePath":"/f","base":"","newContent":"b"}}`)
	stale := &Edit{Apply: func(context.Context, string, string, string) error {
		return errors.New("the file has changed since it was shown")
	}}
	for want, edit := range map[string]*Edit{
		"Files cannot be edited by sed in this session. Use the Edit tool.":            nil,
		"The edit of /f by sed was not made: the file has changed since it was shown.": stale,
	} {
		bash := New(host, &Options{Edit: edit}).bash()
		_, err := bash.Run(t.Context(), &tool.Call{Input: input})
		if forModel := new(tool.Error); !errors.As(err, &forModel) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
