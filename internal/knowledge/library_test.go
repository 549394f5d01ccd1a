package knowledge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/internal/knowledge"
)

// A tree is a home and a project with files in them.
type tree struct {
	t                   *testing.T
	base, home, project string
}

// newTree lays files out; names that end in -> are links to what they hold.
func newTree(t *testing.T, archive string) tree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{t, base, filepath.Join(base, "home"), filepath.Join(base, "project")}
	for _, dir := range []string{tr.home, tr.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		tr.write(f.Name, string(f.Data))
	}
	return tr
}

func (tr tree) write(name, text string) {
	tr.t.Helper()
	link, isLink := strings.CutSuffix(name, "->")
	path := filepath.Join(tr.base, link)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	var err error
	if isLink {
		err = os.Symlink(strings.TrimSpace(text), path)
	} else {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr tree) library(kind knowledge.Kind, trust knowledge.Trust) *knowledge.Library {
	user, project := knowledge.Places(tr.home, filepath.Join(tr.home, ".claude"), tr.project, "")
	return knowledge.NewLibrary(kind, append(user, project...), trust)
}

// show returns pieces as "name (path): body", held claims and problems, without
// the base.
func (tr tree) show(l knowledge.Listing) (pieces, held, problems []string) {
	for _, p := range l.Pieces {
		pieces = append(pieces, fmt.Sprintf("%s (%s): %s", p.Name, strings.TrimPrefix(p.Path, tr.base+"/"), strings.TrimSpace(p.Body)))
	}
	for _, c := range l.Held {
		held = append(held, c.Name)
	}
	for _, p := range l.Problems {
		problems = append(problems, strings.ReplaceAll(p.String(), tr.base+"/", ""))
	}
	return pieces, held, problems
}

func all(knowledge.Claim) bool { return true }

func TestList(t *testing.T) {
	tests := []struct {
		name, archive          string
		kind                   knowledge.Kind
		trust                  knowledge.Trust
		pieces, held, problems []string
	}{
		{name: "nothing is there and nothing is wrong", kind: knowledge.Skill},
		{
			name: "skills are folders, named by themselves or by the folder", kind: knowledge.Skill,
			archive: "-- home/.claude/skills/pdf/SKILL.md --\n---\nname: pdf-forms\n---\nbody\n-- home/.claude/skills/pdf/reference.md --\nmore\n" +
				"-- home/.haft/skills/b/SKILL.md --\n---\nname: A Title\n---\nb\n-- home/.claude/skills/README.md --\nno skill\n-- home/.claude/skills/empty/x --\n\n",
			pieces: []string{"b (home/.haft/skills/b/SKILL.md): b", "pdf-forms (home/.claude/skills/pdf/SKILL.md): body"},
		},
		{
			name: "commands are files, named by their folders", kind: knowledge.Command,
			archive: "-- home/.claude/commands/fix.md --\nfix\n-- home/.claude/commands/git/commit.md --\n---\nname: other\n---\ncommit\n" +
				"-- home/.claude/commands/notes.txt --\nno\n-- home/.claude/commands/.hidden.md --\nno\n",
			pieces: []string{"fix (home/.claude/commands/fix.md): fix", "git:commit (home/.claude/commands/git/commit.md): commit"},
		},
		{
			name: "agents are files, named by themselves or by the file", kind: knowledge.Agent,
			archive: "-- home/.claude/agents/a.md --\n---\nname: reviewer\n---\nYou review.\n-- home/.claude/agents/team/b.md --\nb\n",
			pieces:  []string{"b (home/.claude/agents/team/b.md): b", "reviewer (home/.claude/agents/a.md): You review."},
		},
		{
			name: "what is a project's is held until it is trusted", kind: knowledge.Skill,
			archive: "-- home/.claude/skills/mine/SKILL.md --\nmine\n-- project/.claude/skills/theirs/SKILL.md --\ntheirs\n",
			pieces:  []string{"mine (home/.claude/skills/mine/SKILL.md): mine"},
			held:    []string{"theirs"},
		},
		{
			name: "the place that comes first wins", kind: knowledge.Skill, trust: all,
			archive: "-- home/.claude/skills/x/SKILL.md --\nclaude\n-- home/.haft/skills/x/SKILL.md --\nhaft\n-- project/.haft/skills/x/SKILL.md --\nproject\n",
			pieces:  []string{"x (home/.haft/skills/x/SKILL.md): haft"},
		},
		{
			name: "two of one name in one place are a mistake", kind: knowledge.Agent,
			archive:  "-- home/.claude/agents/a.md --\n---\nname: x\n---\na\n-- home/.claude/agents/b.md --\n---\nname: x\n---\nb\n",
			pieces:   []string{"x (home/.claude/agents/a.md): a"},
			problems: []string{"home/.claude/agents/b.md: skipped: home/.claude/agents/a.md is also named x"},
		},
		{
			name: "a person's links may lead anywhere, a project's may not leave it", kind: knowledge.Skill, trust: all,
			archive: "-- dotfiles/x/SKILL.md --\nlinked\n-- home/.claude/skills/x-> --\n../../../dotfiles/x\n" +
				"-- project/.claude/skills/y-> --\n../../../dotfiles/x\n-- project/.claude/skills/z/SKILL.md-> --\n../../../../dotfiles/x/SKILL.md\n" +
				"-- project/inside/SKILL.md --\ninside\n-- project/.claude/skills/in-> --\n../../inside\n",
			pieces: []string{"in (project/.claude/skills/in/SKILL.md): inside", "x (home/.claude/skills/x/SKILL.md): linked"},
		},
		{
			name: "circles of links end", kind: knowledge.Command,
			archive: "-- home/.claude/commands/a.md --\na\n-- home/.claude/commands/loop-> --\n.\n-- home/.claude/commands/up-> --\n..\n-- home/.claude/commands/self.md-> --\nself.md\n",
			pieces:  []string{"a (home/.claude/commands/a.md): a"},
		},
		{
			name: "broken files are problems and nothing else", kind: knowledge.Command,
			archive: "-- home/.claude/commands/binary.md --\na\x00b\n-- home/.claude/commands/open.md --\n---\nname: x\n-- home/.claude/commands/list.md --\n---\n- a\n- b\n---\nx\n" +
				"-- home/.claude/commands/good.md --\ngood\n-- home/.claude/commands/bad name.md --\nx\n-- home/.claude/commands/folder.md/x --\n\n",
			pieces: []string{"good (home/.claude/commands/good.md): good"},
			problems: []string{
				`home/.claude/commands/bad name.md: skipped: "bad name" is not a valid name; use letters, digits, dashes and underscores`,
				"home/.claude/commands/binary.md: skipped: not a text file in UTF-8",
				"home/.claude/commands/list.md: skipped: the front matter is invalid: it has no line of the form name: value",
				"home/.claude/commands/open.md: skipped: the front matter has no end: a line of three dashes is missing",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree(t, tt.archive)
			pieces, held, problems := tr.show(tr.library(tt.kind, tt.trust).List())
			if diff := cmp.Diff(tt.pieces, pieces); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.held, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHugeFilesAndFoldersAreBounded(t *testing.T) {
	tr := newTree(t, "-- home/.claude/commands/good.md --\ngood\n")
	tr.write("home/.claude/commands/huge.md", strings.Repeat("x", 1<<20))
	tr.write("project/.claude/skills/many/SKILL.md", "many")
	for i := range 2100 {
		tr.write(fmt.Sprintf("project/.claude/skills/many/%d", i), "")
	}
	pieces, _, problems := tr.show(tr.library(knowledge.Command, nil).List())
	if diff := cmp.Diff([]string{"home/.claude/commands/huge.md: skipped: it has 1048576 bytes; the limit is 524288 per file and 67108864 in total"}, problems); diff != "" || len(pieces) != 1 {
		t.Errorf("pieces %q, problems (-want +got):\n%s", pieces, diff)
	}
	pieces, held, problems := tr.show(tr.library(knowledge.Skill, all).List())
	if diff := cmp.Diff([]string{"project/.claude/skills/many/SKILL.md: skipped: a folder with more than 2000 files or 6 levels cannot be trusted"}, problems); diff != "" || len(pieces)+len(held) != 0 {
		t.Errorf("pieces %q, held %q, problems (-want +got):\n%s", pieces, held, diff)
	}
}

func TestChangedFilesAreReadAgain(t *testing.T) {
	tr := newTree(t, "-- home/.claude/skills/x/SKILL.md --\n---\ndescription: one\n---\nold\n")
	lib := tr.library(knowledge.Skill, nil)
	read := func() string {
		p, err := lib.Read("x")
		if err != nil {
			t.Fatal(err)
		}
		return p.Fields.Text("description") + " " + strings.TrimSpace(p.Body)
	}
	if got := read(); got != "one old" {
		t.Errorf("got %q", got)
	}
	tr.write("home/.claude/skills/x/SKILL.md", "---\ndescription: two\n---\nnew\n") // of the same length
	if got := read(); got != "two new" {
		t.Errorf("after the change: got %q", got)
	}
}

func TestTrustIsAboutEverythingInASkillsFolder(t *testing.T) {
	tr := newTree(t, "-- project/.claude/skills/x/SKILL.md --\nrun scripts/a.sh\n-- project/.claude/skills/x/scripts/a.sh --\necho good\n")
	var trusted knowledge.Claim
	lib := tr.library(knowledge.Skill, func(c knowledge.Claim) bool { return cmp.Equal(c, trusted) })
	held := lib.List().Held
	if len(held) != 1 || len(held[0].Files) != 1 || held[0].Files["scripts/a.sh"] == "" {
		t.Fatalf("held %+v", held)
	}
	trusted = held[0]
	if _, err := lib.Read("x"); err != nil {
		t.Errorf("trusted, it could not be read: %v", err)
	}
	tr.write("project/.claude/skills/x/scripts/a.sh", "echo evil\n")
	_, err := lib.Read("x")
	want := `There is no skill named "x". A file in this project has that name but is not trusted in its current form; the user can review and trust it with: haft trust.`
	if err == nil || err.Error() != want {
		t.Errorf("after a script changed: %v, want %s", err, want)
	}
}

func TestAClaimSaysWhatItRuns(t *testing.T) {
	tr := newTree(t, "-- project/.claude/skills/x/SKILL.md --\n---\nallowed-tools: Bash(scripts/a.sh:*), Read\n---\n!`${CLAUDE_SKILL_DIR}/b.sh $1` and !`ls`\n")
	held := tr.library(knowledge.Skill, nil).List().Held
	want := []string{filepath.Join(tr.project, ".claude/skills/x/b.sh") + " $1", "ls", "Bash(scripts/a.sh:*)", "Read"}
	if len(held) != 1 {
		t.Fatalf("held %v", held)
	}
	if diff := cmp.Diff(want, held[0].Runs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	granted := []string{"allows: Bash(scripts/a.sh:*), Read", "runs: ${CLAUDE_SKILL_DIR}/b.sh $1", "runs: ls"}
	if diff := cmp.Diff(granted, held[0].Grants); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesThatAreNotThereAreExplained(t *testing.T) {
	tr := newTree(t, "-- home/.claude/skills/deploy/SKILL.md --\nx\n")
	for name, want := range map[string]string{
		"Deploy":  `There is no skill named "Deploy". Did you mean deploy?`,
		"/deploy": `There is no skill named "/deploy". Did you mean deploy?`,
		"unheard": `There is no skill named "unheard". Available: deploy.`,
	} {
		if _, err := tr.library(knowledge.Skill, nil).Read(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func BenchmarkListTwoHundred(b *testing.B) {
	home := b.TempDir()
	for i := range 200 {
		dir := filepath.Join(home, ".claude/skills", fmt.Sprintf("skill-%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%d\ndescription: Use when: it is %d\n---\n%s", i, i, strings.Repeat("text\n", 500))
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	user, _ := knowledge.Places(home, filepath.Join(home, ".claude"), "", "")
	for name, fresh := range map[string]bool{"first": true, "again": false} {
		b.Run(name, func(b *testing.B) {
			lib := knowledge.NewLibrary(knowledge.Skill, user, nil)
			for b.Loop() {
				if fresh {
					lib = knowledge.NewLibrary(knowledge.Skill, user, nil)
				}
				if n := len(lib.List().Pieces); n != 200 {
					b.Fatal(n)
				}
			}
		})
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"pdf": true, "a.b-c_d": true, "_x": true, "größe": true, "7": true, strings.Repeat("x", 64): true,
		"": false, "-x": false, ".x": false, "a b": false, "a/b": false, "a:b": false, "a)": false, "a\x1b": false, strings.Repeat("x", 65): false,
	} {
		if knowledge.ValidName(name) != want {
			t.Errorf("ValidName(%q) = %t", name, !want)
		}
	}
}

func TestPlacesNearerToWhereOneWorksComeFirst(t *testing.T) {
	tr := newTree(t, "-- project/.claude/commands/x.md --\nroot\n-- project/a/.haft/commands/x.md --\nnear\n-- project/a/.claude/commands/y.md --\ny\n-- project/other/.claude/commands/z.md --\nz\n")
	for dir, want := range map[string][]string{
		"":          {"x (project/.claude/commands/x.md): root"},
		"project/a": {"x (project/a/.haft/commands/x.md): near", "y (project/a/.claude/commands/y.md): y"},
		"elsewhere": {"x (project/.claude/commands/x.md): root"},
	} {
		if dir != "" {
			dir = filepath.Join(tr.base, dir)
		}
		_, places := knowledge.Places(tr.home, filepath.Join(tr.home, ".claude"), tr.project, dir)
		pieces, _, problems := tr.show(knowledge.NewLibrary(knowledge.Command, places, all).List())
		if diff := cmp.Diff(want, pieces); diff != "" || problems != nil {
			t.Errorf("in %s: problems %v, pieces (-want +got):\n%s", dir, problems, diff)
		}
	}
}

// A folder and the name in its file often differ, and people use both.
func TestASkillAnswersToItsFolder(t *testing.T) {
	tr := newTree(t, `
-- home/.claude/skills/make-slides/SKILL.md --
---
name: slides
---
First.
-- home/.claude/skills/new-slides/SKILL.md --
---
name: slides
---
Second.
-- home/.claude/skills/poster/SKILL.md --
---
name: new-slides
---
Named like a folder.
`)
	lib := tr.library(knowledge.Skill, nil)
	pieces, _, problems := tr.show(lib.List())
	want := []string{
		"new-slides (home/.claude/skills/new-slides/SKILL.md): Second.",
		"poster (home/.claude/skills/poster/SKILL.md): Named like a folder.",
		"slides (home/.claude/skills/make-slides/SKILL.md): First.",
	}
	if diff := cmp.Diff(want, pieces); diff != "" || problems != nil {
		t.Errorf("problems %v, skills (-want +got):\n%s", problems, diff)
	}
	for name, body := range map[string]string{"slides": "First.", "make-slides": "First.", "new-slides": "Second.", "poster": "Named like a folder."} {
		p, err := lib.Read(name)
		if err != nil || strings.TrimSpace(p.Body) != body {
			t.Errorf("%s: %q, %v; want %q", name, p.Body, err, body)
		}
	}
}
