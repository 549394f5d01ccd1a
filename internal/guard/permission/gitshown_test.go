package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

// repository makes a project whose history, index and stash hold a file that a rule
// hides: conf/hidden.txt, which says HIDDEN-LINE.
func repository(t *testing.T) realPlace {
	t.Helper()
	needtest.Program(t, "git")
	p := newRealPlace(t, "a.txt", "conf/hidden.txt", "src/main.go")
	p.shell(t, `git init -q . && git config user.email a@b && git config user.name a
printf '* diff\n' > .git/info/attributes
git add a.txt src && git commit -qm one
echo HIDDEN-LINE > conf/hidden.txt && git add conf && git commit -qm two
echo HIDDEN-LINE again >> conf/hidden.txt && git commit -qam three && git tag v3
git mv conf/hidden.txt conf/moved.txt && git commit -qm moved && git mv conf/moved.txt conf/hidden.txt && git commit -qm back
echo plain >> a.txt && git commit -qam four
echo HIDDEN-LINE stashed >> conf/hidden.txt && git stash -q
echo HIDDEN-LINE new >> conf/hidden.txt && echo more >> a.txt`)
	return p
}

func (p realPlace) shell(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", "set -e\n"+script)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HOME="+p.home, "GIT_PAGER=cat", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}

// mayPrint are commands that would print the file with other settings, or if more of
// their output were read.
var mayPrint = map[string]bool{"git stash show": true, "git log -p | head -5": true}

// TestGitPrintsNoFileThatARuleHides runs each command for real: one that prints a line
// of the hidden file is denied, and one that does not is not.
func TestGitPrintsNoFileThatARuleHides(t *testing.T) {
	p := repository(t)
	blob := strings.TrimSpace(p.shell(t, "git rev-parse HEAD:conf/hidden.txt"))
	deny := rule(tool.Deny, "Read(./conf/hidden.txt)")
	for _, command := range []string{
		"git diff", "git diff HEAD", "git diff HEAD~1", "git diff --stat", "git diff --name-only", "git diff -U9", "git diff --stat -p", "git diff a.txt", "git diff -- src", "git diff v3", "git diff HEAD~5 HEAD", "git diff --cached", "git diff -- . ':(exclude)conf/hidden.txt'",
		"git diff nothing", "git diff -- . ':!conf'", "git diff --word-diff", "git diff -M HEAD~2", "git diff -R", "git diff --cached HEAD~3", "git diff HEAD~1 -- a.txt",
		"git log", "git log -p", "git log -p -1", "git log -p -2", "git log -p a.txt", "git log --stat", "git log --oneline -5", "git log --oneline -p --graph", "git log -u --all", "git log -p --follow a.txt", "git log --cc", "git log -c", "git log -p -S HIDDEN", "git log -p --grep four", "git log -W -3", "git log --patch-with-stat",
		"git log -L1,2:a.txt", "git log -p --author=nobody", "git log --format='%h %s' -p -1 v3", "git log -p --no-renames -3",
		"git show", "git show HEAD~1", "git show v3", "git show --stat v3", "git show v3:a.txt", "git show HEAD:conf", "git show -s v3", "git show --name-only v3", "git show stash@{0}", "git show " + blob, "git show HEAD v3",
		"git stash show", "git stash show -p", "git stash list", "git stash list -p", "git reflog", "git reflog -p", "git diff-tree -p v3", "git diff-tree -p HEAD", "git diff-tree v3", "git diff-index -p HEAD", "git diff-files -p", "git diff-index HEAD",
		"git status", "git status -v", "git status -vv", "git grep HIDDEN", "git grep -l HIDDEN", "git grep plain", "git grep -c HIDDEN", "git grep HIDDEN v3", "git grep plain -- src", "git grep -n HIDDEN -- src", "git cat-file -p " + blob, "git cat-file -t " + blob, "git cat-file -p HEAD", "git blame a.txt", "git shortlog -s HEAD", "git ls-files -s",
		"git log -p | head -5", "git --no-pager diff | cat", "git diff && git status", "git -C . diff",
	} {
		prints := strings.Contains(p.shell(t, command), "HIDDEN-LINE")
		for _, mode := range []permission.Mode{permission.Default, permission.Bypass} {
			d := p.decide(t, mode, "Bash", bashInput(command), deny)
			switch {
			case prints && d.Behavior == tool.Allow:
				t.Errorf("%s: %q prints the file and is allowed: %s", mode, command, d.Reason)
			case !prints && d.Behavior != tool.Allow && !mayPrint[command]:
				t.Errorf("%s: %q prints nothing of the file and is not allowed: %s", mode, command, d.Reason)
			case prints && d.Rule != deny.Text:
				t.Errorf("%s: %q: the rule %q is named, want %q (%s)", mode, command, d.Rule, deny.Text, d.Reason)
			}
		}
	}
}

// TestListingStartsNothing: git is asked which files a command would print before anybody has agreed
// to the command, so it must not start what the command says.
func TestListingStartsNothing(t *testing.T) {
	p := repository(t)
	for _, command := range []string{
		"git grep -O'touch ran;:' plain", "git grep -nO'touch ran;:' plain", "git grep --open-files-in-pager='touch ran;:' plain", "git grep --op='touch ran;:' plain",
		"git diff --ext-diff", "git -c diff.external='touch ran' diff", "git diff --output=ran", "git log -p --output=ran", "GIT_PAGER='touch ran' git -p grep plain",
	} {
		p.decide(t, permission.Default, "Bash", bashInput(command), rule(tool.Deny, "Read(./conf/hidden.txt)"))
		if _, err := os.Lstat(filepath.Join(p.dir, "ran")); err == nil {
			t.Fatalf("judging %s has run it", command)
		}
	}
}

// A command that names neither a revision nor a file prints none, unless a part before it makes
// what it names.
func TestGitThatFindsNothingPrintsNothing(t *testing.T) {
	policy := repository(t).policyAt(t, ".", rule(tool.Deny, "Read(./conf/hidden.txt)"))
	for command, want := range map[string]tool.Behavior{
		"git diff nothing":      tool.Allow,
		"git diff nothing --":   tool.Allow,
		"git log -p nothing":    tool.Allow,
		"git show nothing here": tool.Allow,
		"git grep -e":           tool.Ask,
		"git branch nothing HEAD~1 && git diff nothing": tool.Ask,
		"sh make-nothing; git diff nothing":             tool.Ask,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}

// TestGitPrintsWhatItCannotRead: a file that the kernel closes looks removed to git, which prints what it was if it
// compares the work tree with a revision.
func TestGitPrintsWhatItCannotRead(t *testing.T) {
	p := repository(t)
	p.shell(t, "git checkout -q -f HEAD && git commit -q --allow-empty -m five")
	policy := p.policyAt(t, ".", rule(tool.Deny, "Read(./conf/hidden.txt)"))
	for command, want := range map[string]tool.Behavior{
		"git diff HEAD": tool.Deny, "git diff HEAD~1": tool.Deny, "git diff --merge-base HEAD~1": tool.Deny, "git diff-index -p HEAD": tool.Deny, "git diff HEAD conf": tool.Deny, "git diff HEAD --": tool.Deny,
		"git checkout -p HEAD~1": tool.Ask, "git stash -p": tool.Ask, "git notes add -C $(git rev-parse x); git log -1": tool.Ask, "git for-each-ref --format='%(raw)'": tool.Ask,
		"git diff": tool.Allow, "git diff HEAD a.txt": tool.Allow, "git diff HEAD -- src": tool.Allow, "git diff HEAD~1 HEAD": tool.Allow, "git diff HEAD~1..": tool.Allow, "git diff --cached HEAD": tool.Allow, "git diff --stat HEAD": tool.Allow, "git diff HEAD -- ':(exclude)conf'": tool.Allow,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}

// TestGitPrintsNoFolderOrObjectOfARevision: names in a list may begin at a folder, and a file
// without a name may be any. Each command is run for real.
func TestGitPrintsNoFolderOrObjectOfARevision(t *testing.T) {
	p := repository(t)
	p.shell(t, `mkdir empty sub && touch empty/k sub/hidden.txt && git add empty sub && git commit -qm five && git tag -a -m x blobtag HEAD:conf/hidden.txt && git tag conftag HEAD:conf`)
	id := func(name string) string { return strings.TrimSpace(p.shell(t, "git rev-parse "+name)) }
	blob, conf, sub, nothing := id("HEAD:conf/hidden.txt"), id("HEAD:conf"), id("HEAD:sub"), "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	rules := []permission.Rule{rule(tool.Deny, "Read(./conf/hidden.txt)")}
	for _, command := range []string{
		"git diff HEAD:conf/ HEAD:empty/", "git diff HEAD:empty HEAD:conf", "git diff HEAD:conf..HEAD:empty", "git diff-tree -p " + nothing + " HEAD:conf", "git diff HEAD:conf stash@{0}:conf", "git diff HEAD@{0}:conf HEAD:empty", "git diff-tree -p " + sub + " " + conf, "git diff conftag HEAD:empty", "git diff conftag^{tree} HEAD:empty",
		"git grep -n . HEAD:conf -- hidden.txt", "git grep -h HIDDEN HEAD:conf", "git grep HIDDEN " + conf, "git grep HIDDEN conftag", "git diff " + blob + " HEAD:a.txt", "git diff " + blob + ".." + "HEAD:a.txt", "git diff HEAD:a.txt " + blob[:8], "git show blobtag", "git show " + conf + ":hidden.txt", "git cat-file -p " + conf + ":hidden.txt", "git cat-file blob blobtag", "git show HEAD@{0}:conf/hidden.txt", "git show :conf/hidden.txt", "git show :0:conf/hidden.txt", "git show conftag:hidden.txt", "git diff :conf/hidden.txt a.txt",
		"git diff HEAD:conf", "git diff-index -p HEAD:conf", "git diff-index -p " + conf, "git log -p " + conf,
	} {
		if out := p.shell(t, command); !strings.Contains(out, "HIDDEN") && !strings.Contains(command, "-index") && !strings.Contains(command, "log") && command != "git diff HEAD:conf" {
			t.Errorf("%q does not print the file: %s", command, out)
		}
		for _, mode := range []permission.Mode{permission.Default, permission.Bypass} {
			if d := p.decide(t, mode, "Bash", bashInput(command), rules...); d.Behavior == tool.Allow || d.Rule != rules[0].Text {
				t.Errorf("%s: %q: %s by %q: %s", mode, command, d.Behavior, d.Rule, d.Reason)
			}
		}
	}
	for _, command := range []string{
		"git diff HEAD:a.txt a.txt", "git diff HEAD:a.txt HEAD~1:a.txt", "git show HEAD:a.txt", "git show v3:src/main.go", "git diff HEAD:sub HEAD:empty", "git diff HEAD:src/ v3:src/", "git grep plain HEAD:src", "git show HEAD:conf", "git cat-file -p HEAD^{tree}", "git cat-file -p " + conf, "git ls-tree HEAD:conf", "git diff HEAD~1^{tree} HEAD^{tree}",
		"git show HEAD^{tree}:a.txt", "git diff v3..v3", "git diff HEAD~1...HEAD -- a.txt", "git log -p -1 v3~2 -- a.txt", "git diff " + nothing + " HEAD -- a.txt",
	} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), rules...); d.Behavior != tool.Allow {
			t.Errorf("%q: %s (%s), want allowed", command, d.Behavior, d.Reason)
		}
	}
}

// TestGitNamesFilesFromTheTop: in a folder below the top, a path after a revision begins at the top.
func TestGitNamesFilesFromTheTop(t *testing.T) {
	p := repository(t)
	below := realPlace{filepath.Join(p.dir, "src"), p.home}
	deny := rule(tool.Deny, "Read(/"+p.dir+"/conf/hidden.txt)")
	for command, want := range map[string]tool.Behavior{
		"git show HEAD:conf/hidden.txt": tool.Deny, "git show HEAD:./../conf/hidden.txt": tool.Deny, "git diff HEAD:conf v3:src": tool.Deny, "git show HEAD:src/main.go": tool.Allow, "git show HEAD:./main.go": tool.Allow,
	} {
		if d := below.decide(t, permission.Default, "Bash", bashInput(command), deny); d.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
}

// TestGitThatChangesWhatItShows: what is added first is shown then.
func TestGitThatChangesWhatItShows(t *testing.T) {
	p := repository(t)
	p.shell(t, "echo X > .env; echo .env > .gitignore; git checkout -q -- conf")
	deny, allow := rule(tool.Deny, "Read(./.env)"), rule(tool.Allow, "Bash(git:*)")
	added := []string{"git add -f .env && git diff --cached", "git add -f . && git diff --cached", "git add -fA; git stash show -p", "git add -f . && git commit -qm x && git show", "git diff $(cat list)"}
	recorded := []string{
		"cd src && git diff HEAD~9", "git -c diff.renames=no diff", "git format-patch --stdout HEAD~1", "git --git-dir=.git diff", "git -C src diff", "git range-diff HEAD~2 HEAD~1 HEAD",
		"git merge -q v3; git status; git diff", "git add a.txt; git diff --cached", "git clone . ../c", "git notes add -m x && git show", "git worktree add ../w HEAD~1", "git archive -o x.zip HEAD~1",
	}
	clean := []string{"git worktree add ../w", "git archive -o x.zip HEAD"} // they copy the last commit, and no other
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Bypass} {
		for _, command := range added {
			if d := p.decide(t, mode, "Bash", bashInput(command), deny, allow); d.Behavior == tool.Allow {
				t.Errorf("%s: %q is allowed: %s", mode, command, d.Reason)
			}
		}
		for _, command := range slices.Concat(recorded, clean, []string{"git diff", "git add a.txt", "git log -p -3", "git commit -m x"}) {
			if d := p.decide(t, mode, "Bash", bashInput(command), deny, allow, rule(tool.Allow, "Bash(cd:*)")); d.Behavior != tool.Allow {
				t.Errorf("%s: %q: %s (%s), want allowed", mode, command, d.Behavior, d.Reason)
			}
		}
	}
	p.shell(t, "git add -f .env")
	d := p.decide(t, permission.Bypass, "Bash", bashInput("git diff --cached"), deny)
	if d.Behavior != tool.Deny || d.Rule != deny.Text {
		t.Fatalf("what was added is shown: %s (%s)", d.Behavior, d.Reason)
	}
	_, advice, ok := strings.Cut(d.Message, "add ")
	if !ok {
		t.Fatalf("the message %q does not say what to add", d.Message)
	}
	if d := p.decide(t, permission.Default, "Bash", bashInput("git diff --cached "+advice), deny); d.Behavior != tool.Allow {
		t.Errorf("git diff --cached %s, as the message says: %s (%s)", advice, d.Behavior, d.Reason)
	}
	if d := p.decide(t, permission.Default, "Bash", bashInput("git diff --cached")); d.Behavior != tool.Ask {
		t.Errorf("a secret that no rule is about is shown: %s (%s), Read would ask", d.Behavior, d.Reason)
	}
	p.shell(t, "git commit -qm env; git rm -q --cached .env; git commit -qm gone")
	for _, command := range append(recorded, "git -C ../elsewhere diff", "GIT_DIR=x git diff", "git -c core.worktree=.. diff") {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), deny, allow, rule(tool.Allow, "Bash(cd:*)")); d.Behavior == tool.Allow {
			t.Errorf("%q is allowed, and a commit has the file: %s", command, d.Reason)
		}
	}
	for _, command := range clean {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), deny, allow); d.Behavior != tool.Allow {
			t.Errorf("%q copies nothing that is hidden: %s (%s), want allowed", command, d.Behavior, d.Reason)
		}
	}
}

// TestGitCopiesTheRevisionThatItIsGiven: where the last commit has no file that a rule hides, and another has one, each way
// to mean that other one is refused.
func TestGitCopiesTheRevisionThatItIsGiven(t *testing.T) {
	p := repository(t)
	p.shell(t, "git rm -qr --cached conf; git commit -qm gone; git branch w HEAD~1; git branch twice HEAD~1; git tag twice; git tag old HEAD~1; git update-ref refs/remotes/o/far HEAD~1; git branch clean; git checkout -q HEAD~1; git checkout -q -")
	deny, allow := rule(tool.Deny, "Read(./conf/hidden.txt)"), rule(tool.Allow, "Bash(git:*)")
	for command, want := range map[string]bool{
		"git worktree add ../x HEAD~1": false, "git worktree add -- ../x HEAD~1": false, "git worktree add -b q HEAD HEAD~1": false, "git worktree add -bq ../x HEAD~1": false, "git worktree add --reason x HEAD HEAD~1": false, "git worktree add --detach ../x old": false,
		"git worktree add ../w": false, "git worktree add ../w/": false, "git worktree add ../x w": false, "git worktree add ../x twice": false, "git worktree add ../x -": false, "git worktree add ../@{-1}": false, "git worktree add --guess-remote ../far": false, "git worktree add ../far": false,
		"git archive -o HEAD HEAD~1": false, "git archive -- HEAD~1": false, "git archive HEAD~1 conf": false, "git archive HEAD --add-file=conf/hidden.txt": false, "git archive w a.txt -- conf": false,
		"git worktree add ../x": true, "git worktree add -b q ../x": true, "git worktree add -b q ../w HEAD": true, "git worktree add --detach ../w": true, "git worktree add ../x clean": true, "git worktree add ../x HEAD": true, "git worktree add -d ../x twice": true,
		"git archive -o x.zip HEAD": true, "git archive HEAD~1 a.txt": true, "git archive --format=tar --prefix=x/ clean": true,
	} {
		if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), deny, allow); (d.Behavior == tool.Allow) != want {
			t.Errorf("%q: %s (%s), want allowed: %v", command, d.Behavior, d.Reason, want)
		}
	}
}

// TestGitIsNotAskedWhereItWouldRunAProgram: settings of the repository that no
// environment turns off keep git from running during the verdict.
func TestGitIsNotAskedWhereItWouldRunAProgram(t *testing.T) {
	p := repository(t)
	p.shell(t, `printf '#!/bin/sh\ntouch pwned\n' > evil; chmod +x evil; git config diff.external ./evil; git config core.fsmonitor "$PWD/evil"; git config diff.x.textconv "$PWD/evil"; echo '* diff=x' > .gitattributes
mkdir bin && printf '#!/bin/sh\ntouch pwned\n' > bin/git && chmod +x bin/git`)
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, command := range []string{"git diff", "git log -p", "git show", "git grep x"} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), rule(tool.Deny, "Read(./conf/hidden.txt)")); d.Behavior == tool.Allow {
			t.Errorf("%q is allowed: %s", command, d.Reason)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "pwned")); err == nil {
		t.Error("the verdict ran a program of the repository")
	}
}

// TestGitPrintsNoPasswordOfASetting: addresses of servers may hold one.
func TestGitPrintsNoPasswordOfASetting(t *testing.T) {
	p := repository(t)
	prints := []string{"git remote -v", "git remote get-url origin", "git config -l", "git config --list --show-origin", "git config --get remote.origin.url", "git config remote.origin.url", "git config --get-regexp remote", "git remote show -n origin", "git config list", "git branch -vv && git remote -v"}
	for _, command := range prints {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior != tool.Allow {
			t.Errorf("%q in a repository without one: %s (%s)", command, d.Behavior, d.Reason)
		}
	}
	p.shell(t, "git remote add origin https://u:ghp_0123456789abcdefABCDEF@example.com/x.git")
	for _, command := range prints {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior == tool.Allow {
			t.Errorf("%q prints a password and is allowed: %s", command, d.Reason)
		}
	}
	for _, command := range []string{"git status", "git log --oneline", "git branch", "git config --get user.name"} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command)); d.Behavior != tool.Allow {
			t.Errorf("%q: %s (%s)", command, d.Behavior, d.Reason)
		}
	}
}

// TestGitThatOnlyLooksChangesNothingThatGitShows: beside a command that is not known to only read, what git
// prints is still known, unless git itself changes it.
func TestGitThatOnlyLooksChangesNothingThatGitShows(t *testing.T) {
	p := repository(t)
	allow := []permission.Rule{rule(tool.Allow, "Bash(git:*)"), rule(tool.Allow, "Bash(make:*)")}
	hide := append(allow[:len(allow):len(allow)], rule(tool.Deny, "Read(./conf/hidden.txt)"))
	for command, want := range map[string][2]tool.Behavior{
		"git status --short && git diff a.txt && make":      {tool.Allow, tool.Allow},
		"git diff --stat; git diff a.txt; make":             {tool.Allow, tool.Allow},
		"git log --oneline -3; git diff a.txt | cat; make":  {tool.Allow, tool.Allow},
		"git status --short && git diff && make":            {tool.Allow, tool.Deny},
		"git checkout -q . && git diff a.txt && make":       {tool.Allow, tool.Ask},
		"git add -A && git diff --cached a.txt; make":       {tool.Allow, tool.Ask},
		"GIT_DIR=/x git status; git diff a.txt; make":       {tool.Ask, tool.Ask},
		"cd src && git status && git diff ../a.txt && make": {tool.Ask, tool.Ask},
	} {
		for i, rules := range [][]permission.Rule{allow, hide} {
			if d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), rules...); d.Behavior != want[i] {
				t.Errorf("%q, %d rules: %s (%s), want %s", command, len(rules), d.Behavior, d.Reason, want[i])
			}
		}
	}
}

// TestGitWritesNoFileThatARuleHides: a copy under another name is not one that the rule is about.
func TestGitWritesNoFileThatARuleHides(t *testing.T) {
	p := repository(t)
	deny := rule(tool.Deny, "Read(./conf/hidden.txt)")
	for _, command := range []string{
		"git worktree add ../w", "git worktree add --detach ../w HEAD", "git clone . ../c", "git clone file://$PWD ../c", "cd ..; git clone $OLDPWD c", "git -C ../n pull ../p", "git submodule add ./ s", "git subtree add --prefix=q . main",
		"git checkout-index -a --prefix=../o/", "git --work-tree=../o checkout -f", "GIT_WORK_TREE=../o git checkout -f", "export GIT_WORK_TREE=../o; git reset --hard", "git restore -s HEAD:conf .", "git checkout HEAD:conf -- hidden.txt",
		"git read-tree --prefix=q/ HEAD", "git read-tree HEAD:conf", "git update-index --add --cacheinfo 100644,abc,q", "git unpack-file abc", "git blame $(git ls-files | grep hid)",
		"git clone -- . ../c", "git clone -c x.y=a:b " + p.dir, "git checkout-index -a --pref=../o/", "git checkout-index -a --te", "git update-index --add --cachei 100644,abc,q", "git read-tree --pref=q/ HEAD", "git fsck --lost-found",
		"git config core.worktree ../o", "git config --add Core.WorkTree ../o; git checkout -f", "git --work-tree=../o init", "GIT_WORK_TREE=../o git init", "git config include.path ../o",
		"git add --patc", "git add -ue", "git stage -p", "git checkout -fp", "git stash push --pat", "git status --verb --verb", "git rebase --show-cur", "git am --show-current-patch=raw", "git rerere diff",
	} {
		for _, mode := range []permission.Mode{permission.AcceptEdits, permission.Bypass} {
			if d := p.decide(t, mode, "Bash", bashInput(command), deny, rule(tool.Allow, "Bash")); d.Behavior == tool.Allow {
				t.Errorf("%s: %q is allowed: %s", mode, command, d.Reason)
			}
		}
	}
	for _, command := range []string{
		"git worktree list", "git worktree add ../w HEAD~5", "git clone https://example.com/x.git ../x", "git config --get core.worktree", "git init ../n", "git clone -q --depth=1 https://example.com/x.git ../x", "git checkout -bpi", "git stash push -mpi", "git pull", "git pull origin main", "git fetch", "git checkout -b z", "git checkout v3 -- a.txt", "git restore a.txt", "git restore -s HEAD~1 src",
		"git reset HEAD a.txt", "git stash", "git submodule update --init", "git blame a.txt", "git log -L1,2:a.txt",
	} {
		if d := p.decide(t, permission.Bypass, "Bash", bashInput(command), deny); d.Behavior != tool.Allow {
			t.Errorf("%q is %s: %s", command, d.Behavior, d.Reason)
		}
	}
}

// TestGitLosesNothingWhereNothingIsUncommitted: what is committed stays in the reflog.
func TestGitLosesNothingWhereNothingIsUncommitted(t *testing.T) {
	p := repository(t)
	p.shell(t, "git init -q ../other; echo x > ../other/x")
	commands := []string{"git reset -q --hard HEAD~1", "git reset --hard && git log --oneline -1", "cd src && git reset --hard"}
	for _, want := range []tool.Behavior{tool.Ask, tool.Allow} {
		if want == tool.Allow {
			p.shell(t, "git add -A; git commit -qm all")
		}
		for _, command := range commands {
			if d := p.decide(t, permission.Default, "Bash", bashInput(command), rule(tool.Allow, "Bash")); d.Behavior != want {
				t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason, want)
			}
		}
	}
	for _, command := range []string{"git -C ../other reset --hard", "cd ../other && git reset --hard", "git stash pop; git reset --hard", "GIT_DIR=../other/.git git reset --hard", "git reset --hard; git clean -fdx", "git reset --hard; rm -rf ~"} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), rule(tool.Allow, "Bash")); d.Behavior == tool.Allow {
			t.Errorf("%q is allowed: %s", command, d.Reason)
		}
	}
}
