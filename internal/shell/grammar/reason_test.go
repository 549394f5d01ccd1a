package grammar

import (
	"strings"
	"testing"
)

func TestTheReasonIsAboutWhatWasAsked(t *testing.T) {
	for command, want := range map[string]string{
		"git push":            "git push is not known to be read-only",
		"git --no-pager push": "git push is not known to be read-only",
		"git":                 "git without a subcommand is not known to be read-only",
		"git stash pop":       "git stash pop is not known to be read-only",
		"git -c a=b push":     "git: the flag -c is not known to be harmless",
		"git --version --foo": "git: the flag --foo is not known to be harmless",
		"go build":            "go build is not known to be read-only",
	} {
		if _, err := Builtin().Check(Literals(strings.Fields(command)...)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}
