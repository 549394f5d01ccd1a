package preview_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/test/devwork"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// copied are the commands that an overlay refuses, and that run in a copy of the
// project instead.
var copied = map[string]string{
	"git mv c csource && git status --short": "an overlay does not allow renaming a folder",
	`node -e 'const fs = require("fs"); fs.renameSync("titles", "names"); console.log(fs.readdirSync("names"))'`: "an overlay does not allow renaming a folder",
}

// Developer work leaves the same tree when it is previewed and applied as when it is
// run, and nothing at all when it is dropped. HAFT_NIGHTLY=1 tries all of it.
func TestDeveloperWorkIsAppliedAsItRuns(t *testing.T) {
	p := devwork.New(t)
	b := newBench(t, nil)
	b.project, b.shell = p.Dir, b.host.NewShell(p.Dir)
	b.request.Shell, b.request.Dirs, b.request.Home = b.shell, []string{p.Dir}, p.Home
	tiers := map[string]int{}
	for i, c := range devwork.Commands() {
		sample := copied[c.Line] != "" || !c.Reads && i%(8*needtest.Every(4)) == 0 || i%(32*needtest.Every(4)) == 0
		if os.Getenv("HAFT_NIGHTLY") == "" && !sample {
			continue
		}
		t.Run(c.Line, func(t *testing.T) {
			c.Need(t)
			p.Reset(t)
			before := p.Tree(t)
			task, err := b.shell.Run(t.Context(), shellrun.Request{Command: c.Line, Timeout: 2 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			plain := p.Tree(t)

			p.Reset(t)
			settle()
			request := b.request
			request.Command = shellrun.Request{Command: c.Line, Timeout: 2 * time.Minute}
			r, err := preview.Run(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Drop()
			if diff := cmp.Diff(before, p.Tree(t)); diff != "" {
				t.Errorf("before anything is applied (-was +is):\n%s", diff)
			}
			tiers[r.Copied]++
			if r.Copied != copied[c.Line] {
				t.Errorf("it ran in a copy because %q, want %q", r.Copied, copied[c.Line])
			}
			if r.Changed() {
				if err := r.Apply(t.Context(), b.session, c.Line); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(withoutCaches(plain), withoutCaches(p.Tree(t))); diff != "" {
				t.Errorf("(-plain +applied):\n%s", diff)
			}
			if want, got := task.Result().Status.Code, r.Task.Result().Status.Code; want != got || got != c.Code {
				t.Errorf("exit codes: plain %d, previewed %d, want %d: %s", want, got, c.Code, r.Task.Output().Excerpt(4000, false).Text)
			}
		})
	}
	t.Logf("tiers: %v", tiers)
}

// withoutCaches is a tree without what a preview drops.
func withoutCaches(tree map[string]string) map[string]string {
	tree = maps.Clone(tree)
	maps.DeleteFunc(tree, func(name, _ string) bool {
		parts := strings.Split(filepath.ToSlash(name), "/")
		return slices.Contains(parts, "__pycache__") || slices.Contains(parts, ".pytest_cache")
	})
	return tree
}
