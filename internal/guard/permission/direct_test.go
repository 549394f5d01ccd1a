package permission

import (
	"testing"

	"github.com/haftdev/haft/internal/shell"
)

// Git commands that lose work or send it away are judged before they run directly; others are
// like edits.
func TestGitCommandsThatLoseWork(t *testing.T) {
	for command, loses := range map[string]bool{
		"git push origin main":                  true,
		"git -C sub push":                       true,
		"git push --dry-run":                    false,
		"echo a > b && git reset -q --hard":     true,
		"git reset HEAD~1":                      false,
		"git clean -fdx":                        true,
		"git clean -nd":                         false,
		"git checkout -qf main":                 true,
		"git checkout -b feature":               false,
		"git branch -D feature":                 true,
		"git branch -d feature":                 false,
		"git tag v1":                            false,
		"git tag -d v1":                         true,
		"git stash && git stash pop":            false,
		"git stash drop":                        true,
		"git add -A && git commit -m 'push it'": false,
	} {
		if why := gitLoses(shell.Analyze(command, &shell.Options{Cwd: "/p", Home: "/h", Roots: []string{"/p"}}), func() bool { return false }); (why != "") != loses {
			t.Errorf("%s: %q", command, why)
		}
	}
}
