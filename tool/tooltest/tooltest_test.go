package tooltest_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

type in struct {
	A int `json:"a,omitempty" jsonschema:"A number."`
}

type out struct {
	B int `json:"b" haft:"max=1"`
}

func good() tool.Def[in, out] {
	return tool.Def[in, out]{
		Name: "Good", Description: "does nothing",
		Run: func(context.Context, *tool.Call, in) (out, error) { return out{}, nil },
	}
}

// writer is a tool that writes a file and says so.
func writer(path string) tool.Def[in, out] {
	d := good()
	d.Paths = func(*tool.Call, in) tool.Paths { return tool.Paths{Writes: []string{path}} }
	d.Preview = func(context.Context, *tool.Call, in) (*tool.Preview, error) { return newFile(path, "text"), nil }
	d.Run = func(context.Context, *tool.Call, in) (out, error) {
		return out{}, os.WriteFile(path, []byte("text"), 0o600)
	}
	return d
}

func newFile(path, text string) *tool.Preview {
	return &tool.Preview{Files: []tool.FileChange{{Path: path, After: tool.NewVersion(0, []byte(text), []byte(text))}}}
}

// broken are tools that each break one clause of the contract, with what the
// suite must say about them.
func broken(t *testing.T) map[string]struct {
	subject tooltest.Subject
	says    string
} {
	type c = struct {
		subject tooltest.Subject
		says    string
	}
	with := func(change func(*tool.Def[in, out])) tooltest.Subject {
		d := good()
		change(&d)
		return tooltest.Subject{Tool: tool.New(d), Valid: []string{`{"a":1}`}}
	}
	slow := with(func(d *tool.Def[in, out]) {
		d.Run = func(ctx context.Context, _ *tool.Call, in in) (out, error) {
			time.Sleep(7 * time.Second)
			return out{}, nil
		}
	})
	slow.Slow = `{"a":2}`
	undescribed := tool.New(tool.Def[struct {
		A int `json:"a,omitempty"`
	}, out]{Name: "X", Description: "x", Run: func(context.Context, *tool.Call, struct {
		A int `json:"a,omitempty"`
	}) (out, error) {
		return out{}, nil
	}})
	chatty := tool.New(good())
	chatty.Summarize = func(*tool.Call) string { return "a\nb" }
	filing := func(change func(d *tool.Def[in, out], path, other string)) tooltest.Subject {
		dir := t.TempDir()
		d := writer(filepath.Join(dir, "f"))
		change(&d, filepath.Join(dir, "f"), filepath.Join(dir, "other"))
		return tooltest.Subject{Tool: tool.New(d), Valid: []string{`{"a":1}`}, Reset: func(t *testing.T) { os.Remove(filepath.Join(dir, "f")) }}
	}
	return map[string]c{
		"a preview that writes": {filing(func(d *tool.Def[in, out], path, _ string) {
			d.Preview = func(context.Context, *tool.Call, in) (*tool.Preview, error) {
				return nil, os.WriteFile(path, []byte("x"), 0o600)
			}
		}), "the preview changed"},
		"a preview of something else": {filing(func(d *tool.Def[in, out], path, _ string) {
			d.Preview = func(context.Context, *tool.Call, in) (*tool.Preview, error) {
				return newFile(path, "something else"), nil
			}
		}), "not what the preview shows"},
		"a preview of too little": {filing(func(d *tool.Def[in, out], path, _ string) {
			d.Preview = func(context.Context, *tool.Call, in) (*tool.Preview, error) { return &tool.Preview{}, nil }
		}), "not what the preview shows"},
		"a preview that fails": {filing(func(d *tool.Def[in, out], _, _ string) {
			d.Preview = func(context.Context, *tool.Call, in) (*tool.Preview, error) { return nil, errors.New("no idea") }
		}), "cannot be previewed: no idea"},
		"a preview without paths": {filing(func(d *tool.Def[in, out], _, _ string) { d.Paths = nil }), "does not say which files"},
		"a file that it does not name": {filing(func(d *tool.Def[in, out], path, other string) {
			d.Paths = func(*tool.Call, in) tool.Paths { return tool.Paths{Writes: []string{other}} }
		}), "Paths does not name it"},
		"a relative path from nowhere": {filing(func(d *tool.Def[in, out], _, _ string) {
			d.Paths = func(*tool.Call, in) tool.Paths { return tool.Paths{Writes: []string{"f"}} }
		}), "Subject.Dir"},
		"no valid input":    {tooltest.Subject{Tool: tool.New(good())}, "could not fail"},
		"wrongly built":     {with(func(d *tool.Def[in, out]) { d.Name = "a b" }), "wrongly built"},
		"empty description": {with(func(d *tool.Def[in, out]) { d.Description = " " }), "description is empty"},
		"unstable description": {with(func(d *tool.Def[in, out]) {
			n := 0
			d.Describe = func(*tool.Session) string { n++; return strings.Repeat("x", n) }
		}), "prompt cache"},
		"undescribed field":   {tooltest.Subject{Tool: undescribed, Valid: []string{`{"a":1}`}}, "the field a is not described"},
		"invalid valid input": {tooltest.Subject{Tool: tool.New(good()), Valid: []string{`{"a":"1"}`}}, "was changed to"},
		"contradicting marks": {with(func(d *tool.Def[in, out]) {
			d.Marks = func(in) tool.Marks { return tool.Marks{ReadOnly: true, Destructive: true} }
		}), "cannot be destructive"},
		"pure but writing":    {with(func(d *tool.Def[in, out]) { d.Marks = func(in) tool.Marks { return tool.Marks{Effect: tool.Pure} } }), "without effect is read-only"},
		"panics on odd input": {with(func(d *tool.Def[in, out]) { d.Classify = func(i in) string { return strings.Repeat("x", i.A) } }), "panic"},
		"two-line summary":    {tooltest.Subject{Tool: chatty, Valid: []string{`{"a":1}`}}, "more than one line"},
		"no content":          {with(func(d *tool.Def[in, out]) { d.Render = func(out) tool.Result { return tool.Result{} } }), "without content"},
		"output off its schema": {with(func(d *tool.Def[in, out]) {
			d.Run = func(context.Context, *tool.Call, in) (out, error) { return out{B: 2}, nil }
		}), "does not match its schema"},
		"text that is not text": {with(func(d *tool.Def[in, out]) { d.Render = func(out) tool.Result { return tool.Text("\xff") } }), "not UTF-8"},
		"a block of no known type": {with(func(d *tool.Def[in, out]) {
			d.Render = func(out) tool.Result { return tool.Result{Content: []tool.Block{{Type: "hologram"}}} }
		}), "unknown type"},
		"a result without bound": {with(func(d *tool.Def[in, out]) {
			d.Render = func(out) tool.Result { return tool.Text(strings.Repeat("x", 65<<20)) }
		}), "must bound"},
		"a limit without sense": {with(func(d *tool.Def[in, out]) { d.MaxResult = 1 << 30 }), "more than any conversation"},
		"panics on valid input": {with(func(d *tool.Def[in, out]) {
			d.Run = func(context.Context, *tool.Call, in) (out, error) { panic("boom") }
		}), "Run panicked: boom"},
		"fatal on valid input": {with(func(d *tool.Def[in, out]) {
			d.Run = func(context.Context, *tool.Call, in) (out, error) { return out{}, errors.New("no") }
		}), ": no"},
		"deaf to cancellation": {slow, "after it was cancelled"},
		"leaves a goroutine": {with(func(d *tool.Def[in, out]) {
			d.Run = func(context.Context, *tool.Call, in) (out, error) { go time.Sleep(math.MaxInt64); return out{}, nil }
		}), "left running"},
	}
}

const which = "TOOLTEST_BROKEN"

func TestBrokenToolsAreFound(t *testing.T) {
	if name := os.Getenv(which); name != "" {
		tooltest.Run(t, broken(t)[name].subject)
		return
	}
	for name, c := range broken(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenToolsAreFound$")
			cmd.Env = append(os.Environ(), which+"="+name)
			said, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(said), c.says) {
				t.Errorf("want a failure that says %q, got %v:\n%s", c.says, err, said)
			}
		})
	}
}

func TestAGoodToolPasses(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{Tool: tool.New(good()), Valid: []string{`{}`, `{"a":1}`}})
	path := filepath.Join(t.TempDir(), "f")
	tooltest.Run(t, tooltest.Subject{Tool: tool.New(writer(path)), Valid: []string{`{}`}, Reset: func(*testing.T) { os.Remove(path) }})
}
