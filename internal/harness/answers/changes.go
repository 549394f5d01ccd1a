package answers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/tool"
)

// changes reports whether a command changes what is kept beyond the session. Only a user at
// a terminal may use it so: what is piped into 'haft -p' may be another program's text.
func changes(name, args string) bool {
	first, _, _ := strings.Cut(args, " ")
	return name == "export" || args != "" && (name == "memory" || name == "config" || name == "output-style") || name == "permissions" && (first == "add" || first == "remove")
}

// CheckRule says what is wrong with a rule that would allow, ask or deny.
func CheckRule(behavior, rule string) error {
	at := slices.IndexFunc(behaviors, func(b tool.Behavior) bool { return b.String() == behavior })
	if at < 0 {
		return lang.Errorf("choose one of allow, ask and deny")
	}
	r := permission.Rule{Text: rule, Behavior: behaviors[at]}
	return cmp.Or(harness.CheckRule(r), project.Misnamed(r)) // who types a rule that allows nothing wants to know
}

var behaviors = []tool.Behavior{tool.Allow, tool.Ask, tool.Deny}

// cutScope takes a scope off the end of a line.
func cutScope(line string, scopes ...string) (rest, scope string) {
	at := strings.LastIndexByte(line, ' ')
	if at > 0 && slices.Contains(scopes, line[at+1:]) {
		return strings.TrimSpace(line[:at]), line[at+1:]
	}
	return line, ""
}
