package permission_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A command that takes a folder as a whole takes the files in it that rules are about.
func TestAFolderIsTakenWithWhatRulesDeny(t *testing.T) {
	p := newRealPlace(t, "conf/key", "conf/deep/plan", "conf/open", "other/open", "box/a/b/asked", "a.txt")
	p.shell(t, "ln -s ../conf other/link")
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	rules := []permission.Rule{rule(tool.Deny, "Read(./conf/key)"), rule(tool.Deny, "Edit(conf/deep/plan)"), rule(tool.Ask, "Read(asked)"), rule(tool.Allow, "Bash(rsync:*)")}
	for command, want := range map[string]tool.Behavior{
		"mv conf new":                             tool.Deny,
		"cp -r conf new":                          tool.Deny,
		"cp -a ./conf/. new":                      tool.Deny,
		"rm -rf conf":                             tool.Deny,
		"rm -r ./conf/deep":                       tool.Deny, // by the rule about edits
		"cp -r conf/deep new":                     tool.Allow,
		"rsync -a conf/ new/":                     tool.Deny,
		"rsync -a other/ new/":                    tool.Allow,
		"sudo mv conf new":                        tool.Deny,
		"cp -r box new":                           tool.Ask,
		"rm -rf box/a":                            tool.Ask,
		"find conf -delete":                       tool.Deny,
		"chmod -R 700 conf":                       tool.Ask, // a mode is not an edit
		"find . -name '*.pyc' -delete":            tool.Ask, // which files go is not known
		"cp -rL other new":                        tool.Deny,
		"rsync -a --copy-links other/ new/":       tool.Deny,
		"ln -s conf l; cat l/key":                 tool.Deny,
		"mkdir q; ln -s ../conf q/l; cat q/l/key": tool.Deny,
		"ln -s other l; cat l/open":               tool.Allow,
		"mkdir q; cp -r q/../conf new":            tool.Deny,
		"mkdir q && cd q && mv ../conf new":       tool.Deny,
		"cp a.txt conf":                           tool.Allow,
		"mkdir conf/more":                         tool.Allow,
		"cp -r other new":                         tool.Allow,
		"rm -rf other":                            tool.Allow, // a link goes, and what it leads to stays
		"mv other/open other/shut":                tool.Allow,
	} {
		policy := permission.NewPolicy(permission.Options{Mode: permission.AcceptEdits, Rules: rules, Guard: g, Home: p.home})
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
		if want != tool.Deny {
			continue
		}
		policy = permission.NewPolicy(permission.Options{Mode: permission.Bypass, Rules: rules, Guard: g, Home: p.home})
		if d := policy.Decide(bash(command)); d.Behavior != tool.Deny || !strings.Contains(d.Reason, "contains "+p.dir+"/conf/") {
			t.Errorf("%s, bypassing permissions: %s (%s)", command, d.Behavior, d.Reason)
		}
	}
}

// git compares what a link to a folder leads to.
func TestGitComparesNoFolderByALink(t *testing.T) {
	p := newRealPlace(t, "conf/key", "sub/a")
	p.shell(t, "git init -q . && ln -s conf lnk && echo hidden > conf/key")
	for _, command := range []string{"git diff --no-index lnk/ sub/", "git diff --no-index sub lnk/."} {
		if d := p.decide(t, permission.Default, "Bash", bashInput(command), rule(tool.Deny, "Read(./conf/key)")); d.Behavior != tool.Deny {
			t.Errorf("%s: %s (%s)", command, d.Behavior, d.Reason)
		}
	}
}
