package answers

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/session"
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
func (a answerer) change(name, args string) (text string, ok bool, err error) {
	if !changes(name, args) {
		return "", false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case name == "permissions" && first == "add":
		text, err = a.addRule(ctx, rest)
	case name == "permissions" && first == "remove":
		text, err = a.removeRule(ctx, rest)
	case name == "export":
		text, err = a.export(ctx, args)
	case name == "memory":
		text, err = a.addNote(first, rest)
	case name == "output-style":
		text, err = a.chooseStyle(ctx, args)
	default:
		text, err = a.configure(ctx, args)
	}
	return text, true, err
}

// addRule keeps a rule: allow RULE [session|local|project|user].
func (a answerer) addRule(ctx context.Context, args string) (string, error) {
	const usage lang.Text = "type /permissions add allow|ask|deny RULE [session|local|project|user]"
	kind, rule, _ := strings.Cut(args, " ")
	at := slices.IndexFunc(behaviors, func(b tool.Behavior) bool { return b.String() == kind })
	if at < 0 {
		return "", a.errorf(usage)
	}
	rule, scope := cutScope(strings.TrimSpace(rule), "session", "local", "project", "user")
	if rule == "" {
		return "", a.errorf(usage)
	}
	scope = cmp.Or(scope, "local")
	if err := CheckRule(kind, rule); err != nil {
		return "", a.errorf("could not add the rule %s: %v", rule, err)
	}
	if err := a.c.AddRule(ctx, behaviors[at], rule, scope); err != nil {
		return "", a.errorf("could not add the rule %s: %v", rule, err)
	}
	if scope == "session" {
		return a.t("%s %s is in force until this session ends.", kind, visible.Indented(rule)), nil
	}
	return a.t("%s %s is now in force, saved in %s.", kind, visible.Indented(rule), a.c.RulesFile(scope)), nil
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

// removeRule takes a rule back, wherever it is: [allow|ask|deny] RULE [scope].
func (a answerer) removeRule(ctx context.Context, args string) (string, error) {
	text, scope := cutScope(args, "session", "local", "project", "user")
	kind := ""
	if first, rest, ok := strings.Cut(text, " "); ok && slices.ContainsFunc(behaviors, func(b tool.Behavior) bool { return b.String() == first }) {
		kind, text = first, strings.TrimSpace(rest)
	}
	var found []permission.Rule
	var known []string
	for _, r := range a.c.Rules() {
		known = append(known, r.Text)
		if r.Text == text && (kind == "" || r.Behavior.String() == kind) && (scope == "" || r.Origin.Source.String() == scope) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return "", a.errorf("there is no rule %q. %s", text, Near(a.words, text, known, "/permissions lists them."))
	}
	var said []string
	for _, r := range found {
		if err := a.c.RemoveRule(ctx, r); err != nil {
			return strings.Join(said, "\n"), a.errorf("could not remove the rule %s: %v", text, err)
		}
		said = append(said, a.t("%s %s of %s is no longer in force.", r.Behavior, visible.Indented(r.Text), r.Origin))
	}
	return strings.Join(said, "\n"), nil
}

// addNote keeps a note: add project|local|user NOTE.
func (a answerer) addNote(verb, args string) (string, error) {
	scope, note, _ := strings.Cut(args, " ")
	source, err := settings.ParseSource(scope)
	if verb != "add" || err != nil || strings.TrimSpace(note) == "" {
		return "", a.errorf("type /memory, or /memory add project|local|user NOTE")
	}
	path, err := a.c.Note(source, note)
	if err != nil {
		return "", err
	}
	return a.t("Added to %s.", path), nil
}

// export writes the conversation into a new file: HTML if its name says so, else Markdown.
func (a answerer) export(ctx context.Context, name string) (string, error) {
	if name == "" {
		name = "haft-" + time.Now().Format("2006-01-02-150405") + ".md"
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok && a.c.World.Project.Home != "" {
		name = filepath.Join(a.c.World.Project.Home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.c.Dir(), name)
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
		return "", a.errorf("could not export: %s already exists. Give another name: /export FILE.md or FILE.html", name)
	}
	if err != nil {
		return "", a.errorf("could not export: %v", err)
	}
	if err := errors.Join(session.Open("").Export(ctx, a.c.Agent.Session(), file, format), file.Close()); err != nil {
		return "", a.errorf("could not export: %v", errors.Join(err, os.Remove(name)))
	}
	return a.t("The conversation is in %s.", visible.Indented(name)), nil
}
