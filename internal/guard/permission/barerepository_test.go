package permission_test

import (
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// A folder does not become a repository by accepted edits, in whatever order its parts come,
// and a rule about git does not allow it in one that is there.
func TestNoBareRepositoryIsPlanted(t *testing.T) {
	p := newRealPlace(t, "n/objects/x", "n/refs/x", "half/HEAD", "half/config", "bare/HEAD", "bare/objects/x", "bare/refs/x", "shared/HEAD", "shared/commondir", "docs/refs/a", "docs/objects/b")
	rules := []permission.Rule{rule(tool.Allow, "Bash(git fetch:*)"), rule(tool.Allow, "Bash(cd:*)")}
	for command, want := range map[string]tool.Behavior{
		"cp src/a.go n/HEAD":                       tool.Ask,
		"mkdir -p m/objects m/refs; touch m/HEAD":  tool.Ask,
		"ln -s refs/heads/main HEAD":               tool.Ask,
		"mv half/HEAD n/":                          tool.Ask,
		"mkdir half/objects half/refs":             tool.Ask,
		"mkdir -p half/refs/heads":                 tool.Ask,
		"echo x > half/commondir":                  tool.Ask,
		"touch bare/config":                        tool.Ask,
		"cd bare && git fetch":                     tool.Ask,
		"cd bare/refs && git fetch origin":         tool.Ask,
		"cd shared; git fetch":                     tool.Ask,
		"cd src && git fetch":                      tool.Allow,
		"git fetch":                                tool.Allow,
		"mkdir -p docs/refs/more docs/objects/new": tool.Allow,
		"touch half/notes docs/config":             tool.Allow,
	} {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), rules...); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
	for path, want := range map[string]tool.Behavior{"n/HEAD": tool.Ask, "HEAD": tool.Ask, "n/config": tool.Allow, "src/HEAD.md": tool.Allow} {
		if d := p.decide(t, permission.AcceptEdits, "Write", `{"file_path":`+quoteJSON(filepath.Join(p.dir, path))+`,"content":"x"}`); d.Behavior != want {
			t.Errorf("Write %s: %s (%s), want %s", path, d.Behavior, d.Reason, want)
		}
	}
}
