package house

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// A recipe of CONTRIBUTING.md: somebody does the first thing that it says, and the tests name everything else.
type recipe struct {
	title string // as in CONTRIBUTING.md
	begin []change
	runs  [][]string // the arguments of go test
	says  []string   // what they say before the rest is done
	rest  []change
	after [][]string // go test with -update, as the recipe says
}

// A change of a file puts text before the first line that begins as before does. Without before, the file is new.
type change struct{ file, before, text string }

const guideOfTools = "docs/tools.md"

var recipes = []recipe{
	{
		title: "**A grammar**",
		begin: []change{{"internal/shell/grammar/data/oldest.txt", "", "# Lists files, the oldest first.\ncommand oldest\nflags -a --all\noperands path*\n"}},
		runs:  [][]string{{"./internal/shell/grammar"}},
		says:  []string{"oldest.txt has no example"},
		rest:  []change{{"internal/shell/grammar/data/oldest.txt", "operands", "match oldest -a src\nnot-match oldest --delete src\n"}},
	},
	{
		title: "## Add a tool",
		begin: []change{
			{"internal/tools/echo/echo.go", "", echoTool},
			{"internal/tools/builtin/builtin.go", "\t\"github.com/haftdev/haft/internal/tools/edit\"", "\t\"github.com/haftdev/haft/internal/tools/echo\"\n"},
			{"internal/tools/builtin/builtin.go", "\t\tquestion.New(),", "\t\techo.New(),\n"},
		},
		runs: [][]string{{"./internal/test/house", "-run", "TestEveryPackageSays|TestEveryBuiltIn"}, {"./internal/tools/builtin", "-run", "Docs|Specification|Prepared"}},
		says: []string{
			"package echo has no package comment", "internal/tools/echo: no test of it calls tooltest.Run(", guideOfTools + " (-program +guide)",
			"add Echo to the list 'named' in names_test.go", "rewrite it with -update",
		},
		rest: []change{
			{"internal/tools/echo/echo.go", "package echo", "// Package echo provides the Echo tool.\n//\n// Trust: it touches nothing. Nothing confines it, and no gap remains.\n"},
			{"internal/tools/echo/echo_test.go", "", echoTest},
			{guideOfTools, "| Sleep |", "| Echo | repeats a text |\n"},
			{"internal/tools/builtin/names_test.go", "\t\"Glob\"", "\t\"Echo\": \"echo\",\n"},
		},
		after: [][]string{{"./internal/tools/builtin", "-run", "TestPreparedSchemas", "-update"}},
	},
	{
		title: "**A slash command**",
		begin: []change{{"internal/knowledge/command/builtin.go", "\t{\"rewind\",", "\t{\"moon\", \"Show the phase of the moon\", \"\"},\n"}},
		runs:  [][]string{{"./internal/knowledge/command"}, {"./internal/harness", "-run", "TestEveryCommandAnswers"}},
		says:  []string{"docs/skills.md (-program +guide)", "/moon: nobody knows what it answers"},
		rest: []change{
			{"docs/skills.md", "/rewind /skills", "/moon\n"},
			{"internal/harness/answers/answers.go", "\tcase \"tools\":", "\tcase \"moon\":\n\t\treturn \"It is full.\", true\n"},
			{"internal/harness/answers_test.go", "\t\t\"tools\":", "\t\t\"moon\": {\"full\"},\n"},
		},
	},
	{
		title: "**A server with chat completions**",
		begin: []change{{"internal/models/provider/servers.go", "\t\"ollama\":", "\t\"example\": {base: \"http://localhost:9000/v1\", baseEnv: []string{\"EXAMPLE_BASE_URL\"}, keyEnv: \"EXAMPLE_API_KEY\", start: \"example serve\"},\n"}},
		runs:  [][]string{{"./internal/models/provider"}},
		says:  []string{"docs/models.md (-want +got); if the change is intended, rewrite it with -update", "docs/zh/models.md"},
		after: [][]string{{"./internal/models/provider", "-update"}},
	},
	{
		title: "**A setting**",
		begin: []change{{"internal/config/settings/knownkeys.go", "\t\t\"search\":", "\t\t\"moon\": {kinds: \"{\", members: map[string]shape{\"phase\": aText}},\n"}},
		runs:  [][]string{{"./internal/harness/answers"}, {"./internal/config/settings", "-run", "Documented|Guide"}},
		says:  []string{"moon.phase has no meaning", "docs/settings.md (-want +got)", "no guide in docs names the setting moon.phase"},
		rest: []change{
			{"internal/harness/answers/meanings.go", "\t\"model\":", "\t\"moon.phase\": \"the phase of the moon\",\n"},
			{guideOfTools, "| `search.noSavedIndex`", "| `moon.phase` | the phase of the moon |\n"},
		},
		after: [][]string{{"./internal/harness/answers", "./internal/config/settings", "-update"}},
	},
	{
		title: "**A hook event**",
		begin: []change{
			{"hook/input.go", "func (Stop) Event()", "// Rested is the input when nothing has happened for a while.\ntype Rested struct{}\n\nfunc (Rested) subjects() []string { return nil }\nfunc (Rested) Event() Event { return \"Rested\" }\n"},
		},
		runs: [][]string{{"./hook", "-run", "Guide|Input"}},
		says: []string{"Events in internal/config/settings/hooks.go, +inputs in hook/input.go"},
		rest: []change{{"internal/config/settings/hooks.go", "\t\"SessionEnd\", \"Stop\"", "\t\"Rested\",\n"}, {"docs/hooks.md", "| `Stop` |", "| `Rested` | when nothing has happened for a while | – | | nothing |\n"}},
	},
	{
		title: "**A hook event**",
		begin: []change{{"internal/config/settings/hooks.go", "\t\"SessionEnd\", \"Stop\"", "\t\"Resting\",\n"}},
		runs:  [][]string{{"./hook", "-run", "Guide|Input"}, {"./internal/front/headless", "-run", "Listed"}},
		says:  []string{"inputs in hook/input.go", "in docs/hooks.md", "listing.go does not say when Resting runs"},
		rest: []change{
			{"hook/input.go", "func (Stop) Event()", "// Resting is the input when nothing happens for a while.\ntype Resting struct{}\n\nfunc (Resting) subjects() []string { return nil }\nfunc (Resting) Event() Event { return \"Resting\" }\n"},
			{"internal/front/headless/listing.go", "\t\"PreToolUse\": \"before", "\t\"Resting\": \"when nothing happens for a while\", \"Rested\": \"afterwards\",\n"},
			{"docs/hooks.md", "| `Stop` |", "| `Resting` | when nothing happens for a while | – | | nothing |\n"},
		},
	},
}

const (
	echoTool = `package echo

import (
	"context"

	"github.com/haftdev/haft/tool"
)

type callInput struct {
	Text string ` + "`json:\"text\" jsonschema:\"What to repeat.\"`" + `
}

// New returns the tool.
func New() tool.Tool {
	return tool.New(tool.Def[callInput, string]{
		Name:        "Echo",
		Description: "Repeats a text.",
		Run:         func(_ context.Context, _ *tool.Call, in callInput) (string, error) { return in.Text, nil },
	})
}
`
	echoTest = `package echo_test

import (
	"testing"

	"github.com/haftdev/haft/internal/tools/echo"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{Tool: echo.New(), Valid: []string{` + "`{\"text\":\"x\"}`" + `}})
}
`
)

// TestRecipes follows each recipe of CONTRIBUTING.md in a copy of the tree: whoever does only the first step is told of
// each other one by the tests that the recipe names, and they pass once all are done.
func TestRecipes(t *testing.T) {
	list := recipes
	if !needtest.Thorough() {
		list = list[:1]
	}
	guide := readFile(t, "CONTRIBUTING.md")
	dir := copyOfTheTree(t)
	for _, r := range list {
		t.Run(strings.Trim(r.title, "#* "), func(t *testing.T) {
			if !strings.Contains(guide, r.title) {
				t.Errorf("CONTRIBUTING.md has no recipe %s", r.title)
			}
			for _, c := range r.begin {
				c.make(t, dir)
			}
			said, passed := testsSay(t, dir, r.runs)
			for _, want := range r.says {
				if !strings.Contains(said, want) {
					t.Errorf("nobody says %q:\n%s", want, said)
				}
			}
			if passed {
				t.Error("the tests pass before everything is done")
			}
			for _, c := range r.rest {
				c.make(t, dir)
			}
			if said, passed := testsSay(t, dir, r.after); !passed {
				t.Error(said)
			}
			if said, passed := testsSay(t, dir, r.runs); !passed {
				t.Errorf("all is done, and the tests fail:\n%s", said)
			}
		})
	}
}

func (c change) make(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(c.file))
	text := c.text
	if c.before != "" {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index("\n"+string(raw), "\n"+c.before)
		if i < 0 {
			t.Fatalf("%s has no line that begins with %s", c.file, c.before)
		}
		text = string(raw[:i]) + c.text + string(raw[i:])
	} else if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// testsSay runs go test for each of some arguments.
func testsSay(t *testing.T, dir string, runs [][]string) (said string, passed bool) {
	t.Helper()
	passed = true
	for _, args := range runs {
		cmd := exec.CommandContext(t.Context(), needtest.Program(t, "go"), append([]string{"test", "-vet=off"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HAFT_THOROUGH=", "HAFT_NIGHTLY=", "CI=")
		out, err := cmd.CombinedOutput()
		said, passed = said+string(out), passed && err == nil
	}
	return said, passed
}

// copyOfTheTree copies this module, as a git checkout.
func copyOfTheTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, file)
		if err := cmp.Or(err, relErr); err != nil {
			return err
		}
		switch {
		case rel == ".git" && !d.IsDir(): // a worktree's, which leads to its repository
			return nil
		case slices.Contains([]string{".git", "bench", "fleet"}, rel):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), raw, info.Mode().Perm()|0o200)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if out, err := exec.CommandContext(t.Context(), needtest.Program(t, "git"), append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir
}
