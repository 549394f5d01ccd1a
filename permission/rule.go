package permission

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/haftdev/haft/tool"
)

// A Source is where a rule comes from.
type Source string

const (
	Managed Source = "managed"
	User    Source = "user"
	Project Source = "project"
	Local   Source = "local"
	CLI     Source = "cli"
	Session Source = "session"
)

// A Rule allows, asks for or denies calls that match it.
type Rule struct {
	Text     string // as it is written: Tool or Tool(what)
	Behavior tool.Behavior
	Source   Source
	File     string // "" if it stands in no file
	Line     int

	name    string
	spec    string // "" matches every call of the tool
	command *textPattern
	path    *pathPattern
	domain  *domainPattern
	param   *paramPattern
}

// Origin is where the rule stands, for people.
func (r *Rule) Origin() string {
	switch {
	case r.File == "":
		return string(r.Source)
	case r.Line == 0:
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// A RuleProblem is a rule that cannot be used. It never widens anything; the
// other rules stay in force.
type RuleProblem struct {
	Rule Rule
	Err  error
}

func (p RuleProblem) String() string {
	return fmt.Sprintf("%s rule %q (%s) is ignored: %v", p.Rule.Behavior, p.Rule.Text, p.Rule.Origin(), p.Err)
}

// compile reads the rule's text.
func (r *Rule) compile() error {
	name, spec, hasSpec := strings.Cut(strings.TrimSpace(r.Text), "(")
	if hasSpec {
		if !strings.HasSuffix(spec, ")") {
			return errors.New("the closing parenthesis is missing")
		}
		spec = strings.TrimSuffix(spec, ")")
		if strings.TrimSpace(spec) == "" {
			return errors.New("nothing stands between the parentheses; write the tool's name alone to match every call")
		}
	} else if strings.Contains(name, ")") {
		return errors.New("the opening parenthesis is missing")
	}
	r.name, r.spec = canonical(strings.TrimSpace(name)), spec
	if err := r.checkName(); err != nil {
		return err
	}
	if !hasSpec {
		return nil
	}
	return r.compileSpec()
}

func (r *Rule) checkName() error {
	if r.name == "" {
		return errors.New("it names no tool")
	}
	if _, err := path.Match(r.name, ""); err != nil {
		return fmt.Errorf("the tool's name is not a pattern: %w", err)
	}
	if r.Behavior != tool.Allow || !strings.ContainsAny(r.name, "*?[") {
		return nil
	}
	// What an allow rule covers must not grow when a server is added.
	server, _, isTool := strings.Cut(strings.TrimPrefix(r.name, "mcp__"), "__")
	if !strings.HasPrefix(r.name, "mcp__") || !isTool || strings.ContainsAny(server, "*?[") {
		return errors.New("an allow rule must name its tool, or its MCP server as in mcp__server__*")
	}
	return nil
}

func (r *Rule) compileSpec() (err error) {
	switch kindOf(r.name) {
	case commandTool:
		if strings.HasPrefix(r.spec, "command:") {
			return errors.New("write the command itself, without command:")
		}
		r.command = newTextPattern(r.spec)
	case readTool, editTool:
		if r.name != readRule && r.name != editRule {
			return fmt.Errorf("paths are matched by %s(…) and %s(…) rules for all file tools", readRule, editRule)
		}
		r.path, err = newPathPattern(r.spec, r.Behavior)
	case webTool:
		r.domain, err = newDomainPattern(r.spec)
	default:
		r.param = newParamPattern(r.spec)
	}
	return err
}

// names reports whether the rule is about a tool of this name.
func (r *Rule) names(name string) bool {
	if r.name == name {
		return true
	}
	if server, ok := strings.CutPrefix(name, "mcp__"); ok {
		// A server's name alone covers all its tools.
		server, _, _ = strings.Cut(server, "__")
		if r.name == "mcp__"+server {
			return true
		}
	}
	ok, err := path.Match(r.name, name)
	return err == nil && ok && strings.ContainsAny(r.name, "*?[")
}
