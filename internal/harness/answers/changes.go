package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// changes reports whether a command changes what is kept beyond the session. Only a user at
// a terminal may use it so: what is piped into 'haft -p' may be another program's text.
func changes(name, args string) bool {
	first, _, _ := strings.Cut(args, " ")
	return name == "export" || args != "" && (name == "memory" || name == "config" || name == "output-style") || name == "permissions" && (first == "add" || first == "remove")
}

// change does what a command of the user changes beyond the session. It reports false for
// one that changes nothing.
func change(c *harness.Conversation, name, args string) (text string, ok bool, err error) {
	if !changes(name, args) {
		return "", false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case name == "permissions" && first == "add":
		text, err = addRule(ctx, c, rest)
	case name == "permissions" && first == "remove":
		text, err = removeRule(ctx, c, rest)
	case name == "export":
		text, err = export(ctx, c, args)
	case name == "memory":
		text, err = addNote(c, first, rest)
	case name == "output-style":
		text, err = chooseStyle(ctx, c, args)
	default:
		text, err = configure(ctx, c, args)
	}
	return text, true, err
}

// addRule keeps a rule: allow RULE [session|local|project|user].
func addRule(ctx context.Context, c *harness.Conversation, args string) (string, error) {
	const usage = "type /permissions add allow|ask|deny RULE [session|local|project|user]"
	kind, rule, _ := strings.Cut(args, " ")
	at := slices.IndexFunc(behaviors, func(b tool.Behavior) bool { return b.String() == kind })
	if at < 0 {
		return "", errors.New(usage)
	}
	rule, scope := cutScope(strings.TrimSpace(rule), "session", "local", "project", "user")
	if rule == "" {
		return "", errors.New(usage)
	}
	scope = cmp.Or(scope, "local")
	if err := c.AddRule(ctx, behaviors[at], rule, scope); err != nil {
		return "", fmt.Errorf("could not add the rule %s: %w", rule, err)
	}
	if scope == "session" {
		return fmt.Sprintf("%s %s is in force until this session ends.", kind, visible.Indented(rule)), nil
	}
	return fmt.Sprintf("%s %s is now in force, saved in %s.", kind, visible.Indented(rule), c.RulesFile(scope)), nil
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

// removeRule takes a rule back, wherever it is: [allow|ask|deny] RULE [scope].
func removeRule(ctx context.Context, c *harness.Conversation, args string) (string, error) {
	text, scope := cutScope(args, "session", "local", "project", "user")
	kind := ""
	if first, rest, ok := strings.Cut(text, " "); ok && slices.ContainsFunc(behaviors, func(b tool.Behavior) bool { return b.String() == first }) {
		kind, text = first, strings.TrimSpace(rest)
	}
	var found []permission.Rule
	var known []string
	for _, r := range c.Rules() {
		known = append(known, r.Text)
		if r.Text == text && (kind == "" || r.Behavior.String() == kind) && (scope == "" || r.Origin.Source.String() == scope) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no rule %q.%s", text, cmp.Or(near.Hint(text, known), " /permissions lists them."))
	}
	var said []string
	for _, r := range found {
		if err := c.RemoveRule(ctx, r); err != nil {
			return strings.Join(said, "\n"), fmt.Errorf("could not remove the rule %s: %w", text, err)
		}
		said = append(said, fmt.Sprintf("%s %s of %s is no longer in force.", r.Behavior, visible.Indented(r.Text), r.Origin))
	}
	return strings.Join(said, "\n"), nil
}

// addNote keeps a note: add project|local|user NOTE.
func addNote(c *harness.Conversation, verb, args string) (string, error) {
	scope, note, _ := strings.Cut(args, " ")
	source, err := settings.ParseSource(scope)
	if verb != "add" || err != nil || strings.TrimSpace(note) == "" {
		return "", errors.New("type /memory, or /memory add project|local|user NOTE")
	}
	path, err := c.Note(source, note)
	if err != nil {
		return "", err
	}
	return "Added to " + path + ".", nil
}

// export writes the conversation into a new file: HTML if its name says so, else Markdown.
func export(ctx context.Context, c *harness.Conversation, name string) (string, error) {
	if name == "" {
		name = "haft-" + time.Now().Format("2006-01-02-150405") + ".md"
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok && c.World.Project.Home != "" {
		name = filepath.Join(c.World.Project.Home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir(), name)
	}
	format := session.Markdown
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		format = session.HTML
	case ".jsonl":
		format = session.JSONL
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("could not export: %s already exists. Give another name: /export FILE.md or FILE.html", name)
	}
	if err != nil {
		return "", fmt.Errorf("could not export: %w", err)
	}
	if err := errors.Join(session.Open("").Export(ctx, c.Agent.Session(), file, format), file.Close()); err != nil {
		return "", fmt.Errorf("could not export: %w", errors.Join(err, os.Remove(name)))
	}
	return "The conversation is in " + visible.Indented(name) + ".", nil
}
