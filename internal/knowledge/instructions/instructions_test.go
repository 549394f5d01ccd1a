package instructions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge/instructions"
)

// A place is a home and a project below one folder.
type place struct {
	t    *testing.T
	base string
}

// newPlace lays out files; names that end in -> are links to what they hold.
func newPlace(t *testing.T, archive string) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, base}
	for _, dir := range []string{"home", "project/.git", "project/sub"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		p.write(f.Name, strings.ReplaceAll(string(f.Data), "$BASE", base))
	}
	return p
}

func (p place) write(name, text string) {
	p.t.Helper()
	link, isLink := strings.CutSuffix(name, "->")
	path := filepath.Join(p.base, link)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	var err error
	if isLink {
		err = os.Symlink(strings.TrimSpace(text), path)
	} else {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// load returns each file as "path: text" and each problem, without the base.
func (p place) load(opts *instructions.Options) (files, problems []string) {
	p.t.Helper()
	found, wrong := instructions.Load(filepath.Join(p.base, "project/sub"), filepath.Join(p.base, "home"), opts)
	for _, f := range found {
		text := strings.ReplaceAll(f.Text, p.base, "$BASE")
		if len(text) > 90 {
			text = fmt.Sprintf("%d bytes", len(text))
		}
		files = append(files, strings.TrimPrefix(f.Path, p.base+"/")+": "+text)
	}
	for _, w := range wrong {
		problems = append(problems, strings.ReplaceAll(w.String(), p.base+"/", ""))
	}
	return files, problems
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name, archive   string
		opts            *instructions.Options
		files, problems []string
	}{
		{name: "nothing is there and nothing is wrong"},
		{
			name: "the general comes before the particular",
			archive: "-- home/.claude/CLAUDE.md --\nmine\n-- project/CLAUDE.md --\nroot\n-- project/HAFT.md --\nhaft\n" +
				"-- project/sub/AGENTS.md --\nsub\n-- project/CLAUDE.local.md --\nlocal\n-- project/other/CLAUDE.md --\nelsewhere\n-- CLAUDE.md --\nabove\n",
			files: []string{"home/.claude/CLAUDE.md: mine", "project/HAFT.md: haft", "project/CLAUDE.md: root", "project/CLAUDE.local.md: local", "project/sub/AGENTS.md: sub"},
		},
		{
			name:    "sources that are not wanted are not read",
			archive: "-- home/.claude/CLAUDE.md --\nmine\n-- project/CLAUDE.md --\nroot\n-- project/CLAUDE.local.md --\nlocal\n",
			opts:    &instructions.Options{Sources: []settings.Source{settings.Project}},
			files:   []string{"project/CLAUDE.md: root"},
		},
		{
			name:    "what is there under two names is loaded once",
			archive: "-- project/AGENTS.md --\nthe same\n-- project/CLAUDE.md-> --\nAGENTS.md\n-- project/sub/CLAUDE.md --\nthe same\n\n",
			files:   []string{"project/CLAUDE.md: the same"},
		},
		{
			name:    "an include follows the file that includes it",
			archive: "-- project/CLAUDE.md --\n@docs/a.md\n-- project/docs/a.md --\n@b.md, here\n-- project/docs/b.md --\nb\n-- project/sub/CLAUDE.md --\nsub\n",
			files:   []string{"project/CLAUDE.md: @docs/a.md", "project/docs/a.md: @b.md, here", "project/docs/b.md: b", "project/sub/CLAUDE.md: sub"},
		},
		{
			name:    "a circle ends",
			archive: "-- project/CLAUDE.md --\n@a.md\n-- project/a.md --\n@CLAUDE.md @a.md\n",
			files:   []string{"project/CLAUDE.md: @a.md", "project/a.md: @CLAUDE.md @a.md"},
		},
		{
			name: "includes go so deep and no deeper",
			archive: "-- project/CLAUDE.md --\n@1.md\n-- project/1.md --\n@2.md\n-- project/2.md --\n@3.md\n-- project/3.md --\n@4.md\n" +
				"-- project/4.md --\n@5.md\n-- project/5.md --\n@6.md\n-- project/6.md --\ntoo deep\n",
			files: []string{"project/CLAUDE.md: @1.md", "project/1.md: @2.md", "project/2.md: @3.md", "project/3.md: @4.md", "project/4.md: @5.md", "project/5.md: @6.md"},
			problems: []string{
				"project/5.md: includes project/6.md more than 5 levels deep: it is left out",
			},
		},
		{
			name:     "a file that was meant is missed, a name is not",
			archive:  "-- project/CLAUDE.md --\nAsk @alice about @org/package and @gone.md\n",
			files:    []string{"project/CLAUDE.md: Ask @alice about @org/package and @gone.md"},
			problems: []string{"project/CLAUDE.md: includes project/gone.md, which does not exist"},
		},
		{
			name: "a project cannot include what lies outside of it",
			archive: "-- home/.ssh/id --\nsecret\n-- secret.md --\nsecret\n-- project/CLAUDE.md --\n@~/.ssh/id @../secret.md @$BASE/secret.md @link.md\n" +
				"-- project/link.md-> --\n../secret.md\n-- project/AGENTS.md-> --\n../home/.ssh/id\n",
			files: []string{"project/CLAUDE.md: @~/.ssh/id @../secret.md @$BASE/secret.md @link.md"},
			problems: []string{
				"project/CLAUDE.md: includes home/.ssh/id, which could not be read: it is outside the project, which is not trusted to include it",
				"project/CLAUDE.md: includes secret.md, which could not be read: it is outside the project, which is not trusted to include it",
			},
		},
		{
			name:    "a trusted project can, and a person's own file always",
			archive: "-- shared.md --\nshared\n-- mine.md --\nmine\n-- project/CLAUDE.md --\n@../shared.md\n-- home/.claude/CLAUDE.md --\n@../../mine.md\n",
			opts:    &instructions.Options{Trusted: func(_, path string) bool { return filepath.Base(path) == "shared.md" }},
			files:   []string{"home/.claude/CLAUDE.md: @../../mine.md", "mine.md: mine", "project/CLAUDE.md: @../shared.md", "shared.md: shared"},
		},
		{
			name:    "a folder, a loop of links and bytes in a file's place are problems",
			archive: "-- project/CLAUDE.md/x --\n\n-- project/AGENTS.md-> --\nAGENTS.md\n-- project/HAFT.md --\na\x00b\n-- project/sub/HAFT.md --\na\xffb\n",
			files:   []string{"project/sub/HAFT.md: a\ufffdb"},
			problems: []string{
				"project/HAFT.md: could not be read: not a text file in UTF-8",
				"project/CLAUDE.md: could not be read: not a regular file",
				"project/AGENTS.md: could not be read: EvalSymlinks: too many links",
				"project/sub/HAFT.md: is not entirely UTF-8: invalid bytes were replaced",
			},
		},
		{
			name:    "a long file is cut at the end of a line",
			archive: "-- project/CLAUDE.md --\n" + strings.Repeat("123456789\n", 30) + "-- project/sub/CLAUDE.md --\nno room\n-- project/sub/AGENTS.md --\nneither\n",
			opts:    &instructions.Options{MaxFile: 105, MaxTotal: 105},
			files:   []string{"project/CLAUDE.md: 99 bytes"},
			problems: []string{
				"project/CLAUDE.md: is too long: only its first 99 of 300 bytes are used",
				"project/sub/CLAUDE.md: is left out, like everything after it: the instructions before it use up all the space",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, tt.archive)
			files, problems := p.load(tt.opts)
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWeightyFileIsMentioned(t *testing.T) {
	p := newPlace(t, "")
	p.write("project/CLAUDE.md", strings.Repeat("word ", 9000))
	files, problems := p.load(nil)
	want := []string{"project/CLAUDE.md: has 44999 bytes, which are sent with every request: move what is rarely needed into skills"}
	if diff := cmp.Diff(want, problems); diff != "" || len(files) != 1 {
		t.Errorf("%d files, problems (-want +got):\n%s", len(files), diff)
	}
}

func TestAThousandIncludesAreBounded(t *testing.T) {
	p := newPlace(t, "")
	var all strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&all, "@%d.md\n", i)
		p.write(fmt.Sprintf("project/%d.md", i), fmt.Sprint(i))
	}
	p.write("project/CLAUDE.md", all.String())
	files, problems := p.load(nil)
	if len(files) != 100 || len(problems) != 1 {
		t.Errorf("%d files, problems %q", len(files), problems)
	}
}

func TestAHundredThousandMentionsAreBounded(t *testing.T) {
	p := newPlace(t, "")
	var main strings.Builder
	for f := range 20 {
		var all strings.Builder
		for i := range 5_000 {
			fmt.Fprintf(&all, "@%d/%d.md\n", f, i)
		}
		p.write(fmt.Sprintf("project/%d.md", f), all.String())
		fmt.Fprintf(&main, "@%d.md\n", f)
	}
	p.write("project/CLAUDE.md", main.String())
	within(t, 20*time.Second, func() {
		if _, problems := p.load(nil); len(problems) > 50 {
			t.Errorf("%d problems", len(problems))
		}
	})
}

func TestAFolderThatIsNotThereIsAProblem(t *testing.T) {
	files, problems := instructions.Load(filepath.Join(t.TempDir(), "gone"), "", nil)
	if len(files) != 0 || len(problems) != 1 {
		t.Errorf("files %v, problems %v", files, problems)
	}
}

// within fails a test that waits for ever.
func within(t *testing.T, d time.Duration, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("still waiting after %s", d)
	}
}

// A project's file of instructions may be a link to one that a model must not see.
func TestInstructionsThatMayNotBeShownAreLeftOut(t *testing.T) {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md", "HAFT.local.md", ".claude/rules/a.md", "sub/CLAUDE.md"} {
		p := newPlace(t, "-- project/.env --\nTOKEN=1\n-- project/"+name+"-> --\n$BASE/project/.env\n-- home/.claude/CLAUDE.md --\nmine\n")
		files, problems := p.load(&instructions.Options{Readable: func(path string) bool { return filepath.Base(path) == "kept" }})
		if diff := cmp.Diff([]string{"home/.claude/CLAUDE.md: mine"}, files); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"project/" + name + ": could not be read: it may not be shown to a model"}, problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Of an AGENTS.md that is nearly the same as the CLAUDE.md beside it, a model is told only
// what is different.
func TestNearlyTheSameFilesAreSentOnce(t *testing.T) {
	lines := strings.Split(strings.Repeat("Use tabs %d.\n", 20), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "%d", fmt.Sprint(i))
	}
	same := strings.Join(lines, "\n")
	for _, c := range []struct{ name, agents, want string }{
		{"the same", same, ""},
		{"in another order, with other blank lines", "\n\n" + strings.Join(lines[10:], "\n\n") + "\n" + strings.Join(lines[:10], "\n"), ""},
		{"one line more", same + "\nRun the tests.\n", "The same as CLAUDE.md beside it, except for these lines:\nRun the tests."},
		{"quite different", "Run the tests.\nUse tabs 1.\n", "Run the tests.\nUse tabs 1."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, "")
			p.write("project/CLAUDE.md", same)
			p.write("project/AGENTS.md", c.agents)
			files, _ := instructions.Load(filepath.Join(p.base, "project"), "", nil)
			got := ""
			for _, f := range files[1:] {
				got += f.Text
			}
			if got != c.want {
				t.Errorf("AGENTS.md is %q, want %q", got, c.want)
			}
		})
	}
}
