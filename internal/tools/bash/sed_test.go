package bash

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
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

// fileEdit edits files as plainly as can be.
func fileEdit() *Edit {
	draft := func(path string, change func(string) (string, error)) (*tool.Preview, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		after, err := change(string(data))
		if err != nil {
			return nil, err
		}
		return &tool.Preview{Files: []tool.FileChange{{
			Path: path, Before: tool.NewVersion(0o600, data, data), After: tool.NewVersion(0o600, []byte(after), []byte(after)),
		}}}, nil
	}
	return &Edit{
		Preview: func(_ context.Context, _ *tool.Call, path string, change func(string) (string, error)) (*tool.Preview, error) {
			return draft(path, change)
		},
		Apply: func(_ context.Context, c *tool.Call, path string, change func(string) (string, error)) error {
			p, err := draft(path, change)
			if err == nil {
				err = c.Approve(p)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(path, p.Files[0].After.Raw, 0o600)
		},
	}
}

// A sed -i is shown as the edit that it is, and made as that when it runs.
func TestSedIsShownAndAppliedAsAnEdit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.txt")
	if err := os.WriteFile(file, []byte("one two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	defer host.Close()
	bash := New(host, &Options{Dir: dir, Edit: fileEdit()}).bash()
	call := &tool.Call{Tool: "Bash", Input: []byte(`{"command":"sed -i s/two/2/ f.txt"}`)}
	verdict := bash.Permission(t.Context(), call)
	if verdict.Behavior != tool.Ask || verdict.Message != "The command edits "+file+"." {
		t.Fatalf("verdict %+v", verdict)
	}
	if diff := cmp.Diff(tool.Paths{Writes: []string{file}}, bash.PathsOf(call)); diff != "" {
		t.Error(diff)
	}
	p, err := bash.PreviewOf(t.Context(), call)
	if err != nil || len(p.Files) != 1 || string(p.Files[0].After.Raw) != "one 2\n" {
		t.Fatalf("preview %+v, %v", p, err)
	}
	if data, _ := os.ReadFile(file); string(data) != "one two\n" {
		t.Error("the file was changed before anybody agreed")
	}
	result, err := bash.Run(t.Context(), call)
	if err != nil || result.Failed || result.Text() != "(Bash completed with no output)" {
		t.Errorf("result %+v, %v", result, err)
	}
	if data, _ := os.ReadFile(file); string(data) != "one 2\n" {
		t.Errorf("the file has %q", data)
	}
	if err := os.Link(file, filepath.Join(dir, "linked.txt")); err != nil { // of which sed makes a file of its own
		t.Fatal(err)
	}
	for _, other := range []string{`{"command":"sed -i s/two/2/ missing"}`, `{"command":"sed -i s/2/two/ linked.txt"}`, `{"command":"sed -i s/two/2/ f.txt; true"}`, `{"command":"ls"}`} {
		c := &tool.Call{Input: []byte(other)}
		if v := bash.Permission(t.Context(), c); v.Behavior != tool.NoView {
			t.Errorf("%s: verdict %+v", other, v)
		}
		if p, err := bash.PreviewOf(t.Context(), c); p != nil || err != nil {
			t.Errorf("%s: preview %+v, %v", other, p, err)
		}
	}
}

// What was approved as an edit is made as that edit or not at all.
func TestASedEditThatIsAnotherOneByNowIsNotMade(t *testing.T) {
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	defer host.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	bash := New(host, &Options{Dir: dir, Edit: fileEdit()}).bash()
	for name, disturb := range map[string]func() error{
		"another content": func() error { return os.WriteFile(file, []byte("a, new\n"), 0o600) },
		"a link": func() error {
			other := filepath.Join(dir, "other")
			if err := os.Rename(file, other); err != nil {
				return err
			}
			return os.Symlink(other, file)
		},
	} {
		os.Remove(file)
		if err := os.WriteFile(file, []byte("a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		call := &tool.Call{Input: []byte(`{"command":"sed -i s/a/b/ f"}`)}
		p, err := bash.PreviewOf(t.Context(), call)
		if err != nil || p == nil {
			t.Fatal(p, err)
		}
		call.Approved = p.Digest()
		if err := disturb(); err != nil {
			t.Fatal(err)
		}
		want, _ := os.ReadFile(file)
		if _, err := bash.Run(t.Context(), call); !errors.Is(err, tool.ErrUnapproved) {
			t.Errorf("%s: error %v", name, err)
		}
		if got, _ := os.ReadFile(file); string(got) != string(want) {
			t.Errorf("%s: the file has %q", name, got)
		}
	}
}

func TestASedEditThatCannotBeMadeSaysWhy(t *testing.T) {
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	defer host.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	edit := fileEdit()
	edit.Apply = func(context.Context, *tool.Call, string, func(string) (string, error)) error {
		return errors.New("the disk is full")
	}
	_, err := New(host, &Options{Dir: dir, Edit: edit}).bash().Run(t.Context(), &tool.Call{Input: []byte(`{"command":"sed -i s/a/b/ f"}`)})
	want := "The sed edit of " + file + " was not made: the disk is full."
	if forModel := new(tool.Error); !errors.As(err, &forModel) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
