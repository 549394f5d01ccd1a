package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// TestCommandsThatLookReadOnly: none of these only reads, or shells read it differently.
func TestCommandsThatLookReadOnly(t *testing.T) {
	p := newRealPlace(t, "a", "src/b")
	for _, command := range []string{
		"popd", "pushd src && popd && popd", "ls $~X", "lastlog -R /x", "sysctl net/../../../etc/passwd", "git log --format='%-G?'", "git log --format='%h %+GK'", "git log --pretty='format:% G?'", "git -c alias.l='log -p --root' l",
		"cd ~ && cat /proc/self/cwd/.ssh/id_rsa",
	} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior == tool.Allow {
			t.Errorf("%s is allowed: %s", command, d.Reason)
		}
	}
}

// TestBypassStopsBeforeWhatCannotBeUndone: circuit breakers and haft's own files hold in every mode.
func TestBypassStopsBeforeWhatCannotBeUndone(t *testing.T) {
	p := newRealPlace(t, "a", "src/b")
	own := filepath.Join(p.home, ".claude")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "settings.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"ln -s ~/.claude z; echo {} > z/settings.json", "ln -s ~ z; cp a z/.claude/settings.json", "ln -s ~/.claude/settings.json z; tee z < a", "ln -s ~/.claude src; echo > src/.claude/settings.json",
		"cp a ~/.c*/settings.json", "echo > ~/.config/haft/trust.json", "cd ~/.claude && echo > settings.json",
		"git reset --hard", "git -C . reset --hard HEAD~1", "git clean -fdx", "git clean --force", "rsync -a --delete src/ ~/", "rsync -a --delete-after src/ ~/other",
	} {
		if d := p.decide(t, permission.Bypass, "Bash", bashInput(command)); d.Behavior == tool.Allow {
			t.Errorf("%s is allowed: %s", command, d.Reason)
		}
	}
	for _, command := range []string{"git reset HEAD a", "git reset --soft HEAD~1", "git clean -n", "git clean -nfd", "rsync -a --delete src/ build/", "rsync -a src/ ~/other", "ln -s a z; echo > z", "git checkout topic"} {
		if d := p.decide(t, permission.Bypass, "Bash", bashInput(command)); d.Behavior != tool.Allow {
			t.Errorf("%s is %s: %s", command, d.Behavior, d.Reason)
		}
	}
}

// TestAcceptEditsAsksBeforeWhatOtherAgentsFollow: other agents start with these files.
func TestAcceptEditsAsksBeforeWhatOtherAgentsFollow(t *testing.T) {
	p := newRealPlace(t, "a")
	for _, name := range []string{
		".roo/rules/x.md", ".kilocode/x", "crush.json", ".amp/x", ".kiro/x", ".junie/guidelines.md", "AGENTS.md", "sub/AGENTS.md", "GEMINI.md", ".cursorrules", ".clinerules", ".windsurfrules", ".github/copilot-instructions.md",
	} {
		if d := p.decide(t, permission.AcceptEdits, "Write", `{"file_path":"`+filepath.Join(p.dir, name)+`","content":"x"}`); d.Behavior != tool.Ask {
			t.Errorf("%s: %s (%s)", name, d.Behavior, d.Reason)
		}
	}
}
