package sched_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

type stampInput struct {
	Where string `json:"where" jsonschema:"The file."`
	Text  string `json:"text" jsonschema:"What to write."`
}

// stamp is a file tool as an embedder writes one: it knows nothing of workspaces, and
// its input has fields of its own.
func stamp() tool.Tool {
	return tool.New(tool.Def[stampInput, string]{
		Name: "Stamp", Description: "Writes a file.",
		Paths: func(_ *tool.Call, in stampInput) tool.Paths { return tool.Paths{Writes: []string{in.Where}} },
		Preview: func(_ context.Context, _ *tool.Call, in stampInput) (*tool.Preview, error) {
			f := tool.FileChange{Path: in.Where, After: tool.NewVersion(0, []byte(in.Text), []byte(in.Text))}
			if raw, err := os.ReadFile(in.Where); err == nil {
				f.Before = tool.NewVersion(0, raw, raw)
			}
			return &tool.Preview{Files: []tool.FileChange{f}}, nil
		},
		Run: func(_ context.Context, _ *tool.Call, in stampInput) (string, error) {
			return "stamped", os.WriteFile(in.Where, []byte(in.Text), 0o600)
		},
	})
}

// TestAnEmbeddersFileToolIsAFileTool gives such a tool to the pipeline: rules about paths
// hold for it, the question shows a diff, and what it writes can be taken back.
func TestAnEmbeddersFileToolIsAFileTool(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".gitignore": "build/\n", "notes/a": "old\n", "src/a": "old\n", "secrets/a": "old\n", "build/a": "old\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), text)
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: filepath.Join(dir, "home")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.TempDir()).Create(t.Context(), &session.CreateOptions{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	user := settings.Origin{Source: settings.User}
	rules := []permission.Rule{
		{Text: "Edit(notes/**)", Behavior: tool.Allow, Origin: user}, {Text: "Edit(build/**)", Behavior: tool.Allow, Origin: user},
		{Text: "Edit(secrets/**)", Behavior: tool.Deny, Origin: user}, {Text: "Read(.env)", Behavior: tool.Deny, Origin: user},
	}
	keeper := checkpoint.New(dir, s, nil)
	for _, c := range []struct {
		file string
		mode permission.Mode
		want sched.Status
		diff []string // of the question; none is asked without one
	}{
		{"notes/a", permission.Default, sched.Succeeded, nil},
		{"build/a", permission.Default, sched.Succeeded, nil}, // which no look at the tree covers
		{"src/a", permission.Default, sched.Succeeded, []string{"-old", "+new"}},
		{"src/a", permission.AcceptEdits, sched.Succeeded, nil},
		{"src/a", permission.Plan, sched.Denied, nil},
		{"secrets/a", permission.Default, sched.Denied, nil},
		{"secrets/a", permission.Bypass, sched.Denied, nil},
		{".env", permission.AcceptEdits, sched.Denied, nil},
	} {
		t.Run(c.file+" "+string(c.mode), func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			before, _ := os.ReadFile(path)
			policy := permission.NewPolicy(permission.Options{Mode: c.mode, Rules: rules, Guard: g, Home: filepath.Join(dir, "home")})
			var diff []string
			opts := &sched.Options{
				Judge: sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict { return policy.Decide(c).Verdict }),
				Askers: []sched.Asker{sched.AskerFunc(func(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
					for _, f := range card.PreviewOf(c, nil).Files {
						diff = append(diff, f.Hunks[0].Lines...)
					}
					return tool.Verdict{Behavior: tool.Allow}, nil
				})},
				Recorder: keeper.Recorder(s),
			}
			in, err := json.Marshal(stampInput{path, "new\n"})
			if err != nil {
				t.Fatal(err)
			}
			out := call(t, opts, stamp(), string(in))
			if d := cmp.Diff(c.diff, diff); out.Status != c.want || d != "" {
				t.Fatalf("%s (%s), want %s; the question (-want +got):\n%s", out.Status, strings.TrimSpace(out.Result.Text()), c.want, d)
			}
			if out.Status != sched.Succeeded {
				if now, _ := os.ReadFile(path); string(now) != string(before) {
					t.Errorf("denied, and the file has %q", now)
				}
				return
			}
			plan, err := checkpoint.NewPlan(t.Context(), s.Path(), out.CallID, s.Blobs())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.Apply(t.Context(), s, nil); err != nil {
				t.Fatal(err)
			}
			if now := content(t, path); now != string(before) {
				t.Errorf("after the rewind the file has %q, want %q", now, before)
			}
		})
	}
}
