package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/sched"
)

// put writes a file of the project.
func (r *rig) put(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func TestAResumedSessionKnowsWhatItRead(t *testing.T) {
	r := newRig(t, says("hello"), says("again"))
	read, made, changed, part := r.put("read.txt", "one\ntwo\n"), filepath.Join(r.dir, "made.txt"), r.put("changed.txt", "one\ntwo\n"), r.put("part.txt", "one\n"+strings.Repeat("more\n", 40))
	unread := r.put("unread.txt", "one\n")
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "begin")
	for _, do := range []struct{ name, input string }{
		{"Read", in("file_path", read)},
		{"Read", in("file_path", changed)},
		{"Read", fmt.Sprintf(`{"file_path":%q,"limit":1}`, part)},
		{"Write", in("file_path", made, "content", "one\ntwo\n")},
	} {
		if out := callIn(t, c, permission.AcceptEdits, do.name, do.input); out.Status != sched.Succeeded {
			t.Fatal(out.Result.Text())
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.put("changed.txt", "all\nnew\n")
	again := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{Resume: id})
	defer again.Close(t.Context())
	for _, c := range []struct {
		name, path, old string
		want            string // of the refusal; "" means that it is done
	}{
		{"Edit", read, "two", ""},
		{"Edit", made, "two", ""},
		{"Edit", changed, "two", "since it was read"},
		{"Edit", part, "one", ""},
		{"Write", part, "", "read only in part"},
		{"Edit", unread, "one", "has not been read yet"},
	} {
		input := in("file_path", c.path, "old_string", c.old, "new_string", "2")
		if c.name == "Write" {
			input = in("file_path", c.path, "content", "x")
		}
		out := callIn(t, again, permission.AcceptEdits, c.name, input)
		if text := out.Result.Text(); (out.Status == sched.Succeeded) != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %v %s", c.name, c.path, out.Status, text)
		}
	}
}

func TestWhatACommandShowsCountsAsRead(t *testing.T) {
	for _, c := range []struct {
		name, command string
		known         bool
	}{
		{"cat", "cat f.txt", true},
		{"cat of two", "cat g.txt f.txt", true},
		{"cat after cd", "cd sub && cat ../f.txt", true},
		{"sed -n", "sed -n '2,3p' f.txt", true},
		{"head", "head -n 2 f.txt", true},
		{"tail", "echo tail; tail -n 2 f.txt", true},
		{"here-document", "cat > f.txt <<'EOF'\none\ntwo\nnew\nEOF", true},
		{"changed by the same command", "cat f.txt; echo more >> f.txt", false},
		{"not shown", "wc -l f.txt", false},
		{"shown otherwise", "cat f.txt | tr a-z A-Z", false},
		{"appended", "cat >> f.txt <<'EOF'\nmore\nEOF", false},
		{"no such text", "sed -n '9,12p' f.txt", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			path := r.put("f.txt", "one\ntwo\nthree\n")
			r.put("g.txt", "other\n")
			r.put("sub/x", "")
			talk := r.talk(harness.Options{}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			if out := callIn(t, talk, permission.Bypass, "Bash", in("command", c.command)); out.Status != sched.Succeeded {
				t.Fatal(out.Result.Text())
			}
			out := callIn(t, talk, permission.Bypass, "Edit", in("file_path", path, "old_string", "two", "new_string", "2"))
			if (out.Status == sched.Succeeded) != c.known {
				t.Errorf("%v: %s", out.Status, out.Result.Text())
			}
		})
	}
}
