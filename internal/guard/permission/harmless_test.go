package permission_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

// harmless commands do nothing that the rules of the test are about.
const harmless = `git status|git status -sb|git log --oneline -5|git log --graph --all --oneline|git log -p -1 -- a|git log --author=me --since=yesterday|git diff|git diff --stat|git diff HEAD -- a|git diff --cached
git diff --name-only HEAD|git show --stat HEAD|git show HEAD:a|git branch|git branch -a|git branch -vv|git branch topic|git checkout -b topic|git checkout main|git checkout -- a|git switch -c topic|git switch -
git restore a|git restore --staged a|git add a|git add -A|git add -p|git commit -m "change a"|git commit -am "rm the old code, then git push"|git commit --amend --no-edit|git stash|git stash pop|git stash list
git tag v1|git tag -l|git merge topic|git rebase main|git cherry-pick topic|git revert --no-edit HEAD|git reset HEAD a|git reset --soft HEAD~1|git fetch|git fetch origin main|git pull|git remote -v
git remote add other ../other.git|git ls-files|git blame a|git rev-parse HEAD|git rev-parse --show-toplevel|git describe --tags --always|git shortlog -sn|git config user.name|git -C src status|git mv a b
git worktree list|git bisect start|git reflog|git apply fix.patch|git grep -n hi -- a|git check-ignore -v a|git cherry -v|git submodule status|git diff && git add a|git add a && git commit -m x && git status
ls -la|pwd|cat a|head -n 5 a|wc -l a src/m.go|grep -rn main src|find . -name '*.go'|mkdir -p build/x|touch b|cp a b|mv a b|sed -i s/hi/ho/ a|sed -n 1,5p a|echo hello > b
go build ./...|go test ./...|go vet ./src/...|go mod tidy|gofmt -w src|npm install|npm test|npm run build|make|make test|python3 -m pytest|python3 script.py --verbose|python3 -c "print(1+1)"|node index.js
node -e "console.log(1)"|cargo build|docker ps|docker run --rm alpine ls|curl -s https://example.com|tar czf /tmp/x.tgz src|env|which go|date|du -sh .|jq . package.json|sort a|awk '{print $1}' a|perl -pi -e 's/x/y/' a
for f in src/*.go; do echo $f; done|cd src && go vet .|NODE_ENV=test npm test|export A=1 && make|time go build ./...|timeout 60 go test ./...|touch src/x && ls src|echo $HOME|cat "$F"`

// TestRulesLeaveHarmlessCommandsAlone: where the kernel holds what rules deny, a command that has
// nothing to do with them gets the verdict that it gets without rules, in every mode.
func TestRulesLeaveHarmlessCommandsAlone(t *testing.T) {
	needtest.Program(t, "git")
	place := newRealPlace(t, "a", "src/m.go", "secrets/key.txt", "protected/p.txt", "index.js", "package.json", "Makefile")
	for _, args := range []string{"init -q -b main", "add -A", "-c user.name=a -c user.email=a@example.com commit -qm one"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = place.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	commands := strings.Split(strings.ReplaceAll(harmless, "\n", "|"), "|")
	if len(commands) < 100 {
		t.Fatalf("%d commands", len(commands))
	}
	yes := func() bool { return true }
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.DontAsk, permission.Bypass} {
		for _, allow := range []string{"", "Bash(git:*)", "Bash"} {
			opts := permission.Options{Mode: mode, Sandbox: permission.Sandbox{Enabled: allow == "", Boxed: yes, Works: yes, Previews: yes}}
			if allow != "" {
				opts.Rules = append(opts.Rules, rule(tool.Allow, allow))
			}
			without := heldPolicy(t, place, "Bash(nothing)", opts)
			for _, text := range []string{"Read(./secrets/**)", "Edit(./protected/**)", "Bash(git push:*)"} {
				opts.Rules = append(opts.Rules, rule(tool.Deny, text))
			}
			with := heldPolicy(t, place, "Bash(rm:*)", opts)
			for _, command := range commands {
				was, is := without.Decide(bash(command)), with.Decide(bash(command))
				if was.Behavior != is.Behavior {
					t.Errorf("%s, allowed %q: %s was %s, and with rules is %s: %s", mode, allow, command, was.Behavior, is.Behavior, is.Reason)
				}
			}
		}
	}
}

// TestWhereNothingHoldsRules: a machine without namespaces cannot keep a program from a file. Rules
// about commands change nothing for harmless ones there, and with rules about paths those run as before
// that name all that they open; the others are asked about, and in bypassPermissions refused.
func TestWhereNothingHoldsRules(t *testing.T) {
	place := newRealPlace(t, "a", "src/m.go", "secrets/key.txt", "protected/p.txt", "index.js", "package.json", "Makefile", ".git/HEAD")
	no := func() bool { return false }
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.DontAsk, permission.Bypass} {
		for _, allow := range []string{"", "Bash(git:*)", "Bash"} {
			opts := permission.Options{Mode: mode, Sandbox: permission.Sandbox{Holds: no, Works: no, Boxed: no}}
			if allow != "" {
				opts.Rules = append(opts.Rules, rule(tool.Allow, allow))
			}
			without := heldPolicy(t, place, "Bash(nothing)", opts)
			opts.Rules = append(opts.Rules, rule(tool.Deny, "Bash(git push:*)"))
			commands := heldPolicy(t, place, "Bash(rm:*)", opts)
			for _, text := range []string{"Read(./secrets/**)", "Edit(./protected/**)"} {
				opts.Rules = append(opts.Rules, rule(tool.Deny, text))
			}
			paths := heldPolicy(t, place, "Bash(rm:*)", opts)
			for _, command := range strings.Split(strings.ReplaceAll(harmless, "\n", "|"), "|") {
				was, is := without.Decide(bash(command)), commands.Decide(bash(command))
				if was.Behavior != is.Behavior {
					t.Errorf("%s, allowed %q: %s was %s, and with rules about commands is %s: %s", mode, allow, command, was.Behavior, is.Behavior, is.Reason)
				}
				is = paths.Decide(bash(command))
				want := was.Behavior
				if slices.Contains(strings.FieldsFunc(namesAllItOpens, func(c rune) bool { return c == '|' || c == '\n' }), command) {
					if is.Behavior != want {
						t.Errorf("%s, allowed %q: %s was %s, and with rules about paths is %s: %s", mode, allow, command, was.Behavior, is.Behavior, is.Reason)
					}
				} else if want == tool.Allow && !was.ReadOnly && is.Behavior == tool.Allow {
					t.Errorf("%s, allowed %q: %s is allowed, and nothing keeps it from denied files", mode, allow, command)
				}
			}
		}
	}
}

// namesAllItOpens are those of harmless that open no file that they do not name.
const namesAllItOpens = `git status|git branch|git branch -a|git log --oneline -5|git rev-parse HEAD|git remote -v|git stash list|git ls-files|git describe --tags --always|git diff --stat|git reflog|git worktree list
ls -la|pwd|cat a|head -n 5 a|wc -l a src/m.go|find . -name '*.go'|mkdir -p build/x|touch b|cp a b|mv a b|sed -i s/hi/ho/ a|sed -n 1,5p a|date|sort a|which go|du -sh .|touch src/x && ls src|echo $HOME`

// TestGitRunsDirectlyBesideRules: where the mode accepts edits, git does its everyday work at once although
// rules deny files and git has a copy of one. A program that could read that copy does not.
func TestGitRunsDirectlyBesideRules(t *testing.T) {
	needtest.Program(t, "git")
	place := newRealPlace(t, "a", "secrets/key.txt", "protected/p.txt")
	place.shell(t, "git init -q . && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm one")
	yes := func() bool { return true }
	opts := permission.Options{Mode: permission.AcceptEdits, Sandbox: permission.Sandbox{Direct: yes, Boxed: yes, Works: yes}}
	for _, text := range []string{"Read(./secrets/**)", "Edit(./protected/**)"} {
		opts.Rules = append(opts.Rules, rule(tool.Deny, text))
	}
	policy := heldPolicy(t, place, "Bash(rm:*)", opts)
	for command, want := range map[string]tool.Behavior{
		"git add -A": tool.Allow, "git commit -qm x": tool.Allow, "git checkout -b x": tool.Allow, "echo x > n && git add n && git commit -m n": tool.Allow, "git stash": tool.Allow, "git merge x": tool.Allow,
		"git rebase -x 'cat .git/x' HEAD~1": tool.Ask, "git -c core.pager=x tag y": tool.Ask, "git add a && python3 x.py": tool.Ask, "git submodule foreach ls": tool.Ask, "git bisect run ./x": tool.Ask, "git worktree add ../x": tool.Deny, "git apply x.patch": tool.Ask, "git push": tool.Ask,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}
