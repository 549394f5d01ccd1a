package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// Where edits are accepted, what will run is still asked about, whichever tool or command
// writes it or puts another folder in its place.
func TestWhatWillRunIsAskedAbout(t *testing.T) {
	p := newRealPlace(t, "tools/server.py", "tools/other.py", "evil/server.py", "scripts/x.sh", "hk/pre-commit")
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home, Runs: []guard.Run{
		{Path: filepath.Join(p.dir, "tools/server.py"), Why: "an MCP server runs this file"},
		{Path: filepath.Join(p.dir, "gone/x.py"), Why: "an MCP server runs this file"},
		{Path: filepath.Join(p.dir, "bin"), Why: "PATH lists it", Reach: guard.Entries},
		{Path: filepath.Join(p.dir, "hk"), Why: "git runs it", Reach: guard.Tree},
	}})
	if err != nil {
		t.Fatal(err)
	}
	policy := permission.NewPolicy(permission.Options{Mode: permission.AcceptEdits, Guard: g, Home: p.home, Rules: []permission.Rule{rule(tool.Allow, "Bash(mv:*)"), rule(tool.Allow, "Edit(./**)")}})
	for command, want := range map[string]tool.Behavior{
		"cp scripts/x.sh tools/server.py":                    tool.Ask,
		"cp evil/server.py tools/":                           tool.Ask,
		"cp -r evil/. tools":                                 tool.Ask,
		"echo x > tools/server.py":                           tool.Ask,
		"sed -i s/x/y/ tools/server.py":                      tool.Ask,
		"rm tools/server.py":                                 tool.Ask,
		"mv tools old":                                       tool.Ask,
		"rm -r tools":                                        tool.Ask,
		"ln -s evil gone":                                    tool.Ask,
		"cp scripts/x.sh bin/touch":                          tool.Ask,
		"mkdir -p bin && cp scripts/x.sh bin/touch; touch a": tool.Ask,
		"touch hk/post-commit":                               tool.Ask,
		"cp scripts/x.sh tools/new.py":                       tool.Allow,
		"cp scripts/x.sh tools":                              tool.Allow,
		"mv scripts/x.sh tools/":                             tool.Allow,
		"mkdir -p tools bin":                                 tool.Allow,
		"mv scripts s2":                                      tool.Allow,
		"sed -i s/x/y/ tools/other.py":                       tool.Allow,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
	for path, want := range map[string]tool.Behavior{"tools/server.py": tool.Ask, "bin/git": tool.Ask, "hk/pre-push": tool.Ask, "tools/other.py": tool.Allow} {
		if d := policy.Decide(called("Write", []byte(`{"file_path":`+quoteJSON(filepath.Join(p.dir, path))+`,"content":"x"}`))); d.Behavior != want {
			t.Errorf("Write %s: %s (%s), want %s", path, d.Behavior, d.Reason, want)
		}
	}
}

// A mode that accepts edits accepts those of the system's programs: what the project calls
// touch, or puts before it, may do anything.
func TestAProgramOfTheProjectIsNoEdit(t *testing.T) {
	p := newRealPlace(t, "bin/touch", "bin/timeout")
	for _, name := range []string{"touch", "timeout"} {
		if err := os.Chmod(filepath.Join(p.dir, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]tool.Behavior{"touch a": tool.Allow, "timeout 5 touch a": tool.Allow, "./bin/touch a": tool.Ask, p.dir + "/bin/touch a": tool.Ask} {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	for command, want := range map[string]tool.Behavior{"touch a": tool.Ask, "timeout 5 mkdir a": tool.Ask, "mkdir a": tool.Allow} {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command)); d.Behavior != want {
			t.Errorf("with PATH, %s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}
