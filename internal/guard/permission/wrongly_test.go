package permission_test

import (
	"errors"
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

// TestAFileWithOtherNamesIsAskedAbout: a change of it may reach outside the project.
func TestAFileWithOtherNamesIsAskedAbout(t *testing.T) {
	p := newRealPlace(t, "a", "b")
	if err := errors.Join(os.WriteFile(filepath.Join(p.home, "x"), nil, 0o600), os.Link(filepath.Join(p.home, "x"), filepath.Join(p.dir, "hl"))); err != nil {
		t.Fatal(err)
	}
	yes := func() bool { return true }
	policy := heldPolicy(t, p, "Bash(nothing)", permission.Options{Mode: permission.AcceptEdits, Sandbox: permission.Sandbox{Direct: yes, Boxed: yes, Works: yes}})
	for _, command := range []string{"echo >> hl", "cp a hl", "tee hl < a", "sed -i s/a/b/ hl", "truncate -s 0 hl", "dd if=a of=hl", "cat a > hl", "cd . && echo x > hl"} {
		if d := policy.Decide(bash(command)); d.Behavior != tool.Ask {
			t.Errorf("%s is %s: %s", command, d.Behavior, d.Reason)
		}
	}
	for _, command := range []string{"echo >> b", "cp a b", "sed -i s/a/b/ b"} {
		if d := policy.Decide(bash(command)); d.Behavior != tool.Allow {
			t.Errorf("%s is %s: %s", command, d.Behavior, d.Reason)
		}
	}
}

// TestAStarStandsForNoSettingOfGit: a setting in front of git's command may name a program.
func TestAStarStandsForNoSettingOfGit(t *testing.T) {
	p := newRealPlace(t, "a", ".git/HEAD")
	for rule, commands := range map[string][]string{
		"Bash(git * main)": {"git -c core.fsmonitor=./x status main", "git -c alias.status='!./x' status main", "git --exec-path=. status main", "git --config-env=core.pager=X log main", "/usr/bin/git -c core.sshCommand=./x fetch o main"},
		"Bash(git * -m x)": {"git -c core.hooksPath=h commit -m x"},
	} {
		policy := heldPolicy(t, p, "Bash(nothing)", permission.Options{Rules: []permission.Rule{{Text: rule, Behavior: tool.Allow}}})
		for _, command := range commands {
			if d := policy.Decide(bash(command)); d.Behavior == tool.Allow {
				t.Errorf("%s is allowed by %s: %s", command, rule, d.Reason)
			}
		}
	}
	policy := heldPolicy(t, p, "Bash(nothing)", permission.Options{Rules: []permission.Rule{{Text: "Bash(git * main)", Behavior: tool.Allow}}})
	for _, command := range []string{"git push origin main", "git -c color.ui=never merge main", "git -C . rebase main"} {
		if d := policy.Decide(bash(command)); d.Behavior != tool.Allow {
			t.Errorf("%s is %s: %s", command, d.Behavior, d.Reason)
		}
	}
}

// TestAProcessNamesItsOwnFolder: what /proc/self leads to is the command's, not haft's, which may run
// anywhere and hide its own. So a verdict is the same in a session and when it is explained.
func TestAProcessNamesItsOwnFolder(t *testing.T) {
	p := newRealPlace(t, "a", "secrets/key", "protected/p")
	policy := heldPolicy(t, p, "Read(./secrets/**)", permission.Options{Mode: permission.Bypass, Rules: []permission.Rule{rule(tool.Deny, "Edit(./protected/**)")}})
	for _, command := range []string{
		"cat /proc/self/cwd/secrets/key", "cat /proc/thread-self/cwd/secrets/key", "cat /proc/self/root" + p.dir + "/secrets/key", "cat /proc/self/root/proc/self/cwd/secrets/key",
		"echo x > /proc/self/cwd/protected/p", "cd secrets && cat /proc/self/cwd/key", "perl -ne print /proc/self/cwd/secrets/key",
	} {
		if d := policy.Decide(bash(command)); d.Behavior != tool.Deny {
			t.Errorf("%s is %s: %s", command, d.Behavior, d.Reason)
		}
	}
}
