// Package answers answers haft's own slash commands that need no model, such as /cost, in
// words for the user.
//
//	text, ok, err := answers.Run(conversation, words, "cost", "")
//
// It is above the conversation, which it asks and sometimes changes (/model, /rewind), and
// keeps nothing: it is as safe for concurrent use as the conversation is.
package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Run answers one of haft's own commands that needs no model, such as /cost, in
// words for the user. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own. What is kept beyond the session is not changed; only a user at a terminal may.
// Words are the language of the answer; what lower layers report, such as an error, stays as it is.
func Run(c *harness.Conversation, words *lang.Catalogue, name, args string) (text string, ok bool, err error) {
	a := answerer{c, words}
	if changes(name, args) {
		return "", true, a.errorf("/%s changes saved files: run haft in a terminal to use it", strings.TrimSpace(name+" "+args))
	}
	switch name {
	case "permissions":
		if args != "" {
			err = c.Agent.SetMode(args)
		}
		if err == nil {
			text = a.permissionsText()
		}
	case "mcp":
		text, err = a.mcpText(args)
	case "resume":
		text, err = a.sessionsText(args)
	case "rewind":
		text, err = a.rewindText(args)
	case "add-dir":
		text, err = a.addDirText(args)
	default:
		text, ok = a.tell(name, args)
		return text, ok, nil
	}
	return text, true, err
}

// An answerer answers about a conversation in the language of its user.
type answerer struct {
	c     *harness.Conversation
	words *lang.Catalogue
}

func (a answerer) t(text lang.Text, args ...any) string { return a.words.T(text, args...) }

func (a answerer) errorf(text lang.Text, args ...any) error { return errors.New(a.t(text, args...)) }

// AtTerminal is Run for a user who types at a terminal: they may also change what is kept
// beyond the session.
func AtTerminal(c *harness.Conversation, words *lang.Catalogue, name, args string) (text string, ok bool, err error) {
	text, ok, err = answerer{c, words}.change(name, args)
	if !ok {
		text, ok, err = Run(c, words, name, args)
	}
	return text, ok, err
}

// tell answers what cannot fail.
func (a answerer) tell(name, args string) (text string, ok bool) {
	switch name {
	case "help":
		return a.helpText(), true
	case "model":
		return a.changeModel(args), true
	case "agents":
		return a.agentsText(), true
	case "skills":
		return a.skillsText(), true
	case "output-style":
		return a.stylesText(), true
	case "tools":
		return a.toolsText(), true
	case "memory":
		return a.memoryText(), true
	case "config":
		return a.configText(), true
	case "doctor":
		return strings.TrimRight(doctor.Diagnose(a.c.World.Project, &doctor.Options{Version: a.c.Version, NoServers: true, Lang: a.words}).Text(), "\n") + "\n" + a.serversText(), true
	}
	return a.standing(name)
}

// Cost says what the session has cost, in a sentence.
func Cost(c *harness.Conversation, words *lang.Catalogue) string {
	usd, unknown := 0.0, false
	for _, u := range c.Agent.Usage() {
		usd += u.Cost
		unknown = unknown || u.Unpriced
	}
	if unknown {
		return words.T("This session has cost $%.4f, plus the cost of a model whose price is unknown.", usd)
	}
	return words.T("This session has cost $%.4f.", usd)
}

func (a answerer) helpText() string {
	return table(func(row func(...any)) {
		for _, k := range a.c.Input().Commands.List().Commands {
			row("/"+strings.TrimSpace(k.Name+" "+k.Hint), a.t(lang.Text(k.Description)))
		}
	})
}

func (a answerer) changeModel(name string) string {
	if name == "" {
		return a.t("The model is %s. Choose another with /model NAME.", a.c.Agent.ContextUsage().Model)
	}
	a.c.Agent.SetModel(a.c.Resolve(name))
	return a.t("The model is %s, starting with the next request.", a.c.Resolve(name))
}

func (a answerer) permissionsText() string {
	text := a.t("The permission mode is %s. The modes, from most to least careful: %s.", a.c.World.Engine.Policy().Mode(), strings.Trim(fmt.Sprint(permission.Modes()), "[]")) + "\n"
	rules := a.c.Rules()
	if len(rules) == 0 {
		return text + a.t("There are no rules yet. Add one with 'haft permissions add', or when you answer a question.")
	}
	return text + table(func(row func(...any)) {
		for _, r := range rules {
			row(r.Behavior, visible.Indented(r.Text), r.Origin)
		}
	})
}

// addDirText lets tools work in more folders, or lists those there are.
func (a answerer) addDirText(args string) (string, error) {
	if args != "" {
		dir := args
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && a.c.World.Project.Home != "" {
			dir = filepath.Join(a.c.World.Project.Home, rest)
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(a.c.Dir(), dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", a.errorf("could not add %s: it is not a folder", args)
		}
		if err := a.c.AddDirectories([]string{dir}); err != nil {
			return "", err
		}
	}
	return a.t("Tools may work in these folders (added ones for this session only):") + "\n  " + strings.Join(a.c.World.Engine.Guard().Roots(), "\n  ") +
		"\n" + a.t("To add one permanently, use permissions.additionalDirectories in the settings."), nil
}

// memoryText lists the instructions that are told to the model.
func (a answerer) memoryText() string {
	text := a.t("There are no instructions here. /init writes some.")
	if files := a.c.Instructions(); len(files) > 0 {
		text = table(func(row func(...any)) {
			for _, f := range files {
				by := ""
				if f.IncludedBy != "" {
					by = a.t("included by %s", visible.Indented(f.IncludedBy))
				}
				row(visible.Indented(f.Path), f.Source, a.words.Count(len(f.Text), "byte"), by)
			}
		})
	}
	text += "\n" + a.t("Notes are saved in:") + "\n" + table(func(row func(...any)) {
		for _, t := range a.c.NoteFiles() {
			made := ""
			if !t.Exists {
				made = a.t("created with the first note")
			}
			row("  "+t.Source.String(), visible.Indented(t.Path), made)
		}
	})
	return text + "\n" + a.t("Add one with: %s", "/memory add project|local|user NOTE")
}

// configText lists the settings.
func (a answerer) configText() string {
	return table(func(row func(...any)) {
		for _, s := range Settings(a.c) {
			value, origin := "-", ""
			if s.Value != "" {
				value, origin = visible.Indented(s.Value), s.Origin.String()
			}
			row(s.Key, value, Takes(a.words, s.Knob), Meaning(a.words, s.Knob), origin)
		}
	}) + "\n" + a.t("Set one with: %s", "/config KEY VALUE [local|project|user]")
}

func (a answerer) skillsText() string {
	list := a.c.World.Project.Library.Skills.List().Skills
	if len(list) == 0 {
		return a.t("There are no skills. A skill is a folder with a SKILL.md in .claude/skills or .haft/skills, in the project or in your home folder.")
	}
	return table(func(row func(...any)) {
		for _, k := range list {
			row(k.Name, k.Description)
		}
	})
}

func (a answerer) toolsText() string {
	deferred := make(map[string]bool)
	for _, t := range a.c.Agent.Tools().Deferred() {
		deferred[t.Name] = true
	}
	return table(func(row func(...any)) {
		for _, t := range a.c.Agent.Tools().All() {
			note := ""
			if deferred[t.Name] {
				note = a.t("found by ToolSearch")
			}
			row(t.Name, t.Source, note)
		}
	})
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

// set writes a value into the file of a scope, "" takes it out, and says from when on
// it counts.
func (a answerer) set(ctx context.Context, k settings.Knob, value, scope string) (string, error) {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return "", err
	}
	if k.Key == "permissions.defaultMode" && value != "" {
		if _, err := permission.ParseMode(value); err != nil {
			return "", err
		}
	}
	target, err := a.c.World.Project.Target(source)
	if err != nil {
		return "", err
	}
	if err := k.Set(ctx, target, value); err != nil {
		return "", err
	}
	if source == settings.Local {
		_ = project.Untracked(target.Path) // the value counts whether git ignores the file or not
	}
	when := a.t("It takes effect in the next session.")
	switch {
	case value == "":
	case k.Key == "model":
		a.c.Agent.SetModel(a.c.Resolve(value))
		when = a.t("It takes effect with the next request.")
	case k.Key == "effortLevel":
		a.c.Agent.SetEffort(value)
		when = a.t("It takes effect with the next request.")
	}
	if value == "" {
		return a.t("%s is no longer set in %s. %s", k.Key, a.c.RulesFile(scope), when), nil
	}
	return a.t("%s is set to %s in %s. %s", k.Key, visible.Indented(value), a.c.RulesFile(scope), when), nil
}

// configure sets or shows a value: KEY, KEY VALUE [local|project|user], unset KEY [scope].
func (a answerer) configure(ctx context.Context, args string) (string, error) {
	key, value, _ := strings.Cut(args, " ")
	unset := key == "unset"
	value, scope := cutScope(strings.TrimSpace(value), "local", "project", "user")
	if unset {
		key, value = value, ""
	}
	var known []string
	for _, s := range Settings(a.c) {
		known = append(known, s.Key)
		switch {
		case s.Key != key:
		case value == "" && !unset:
			return a.settingText(s), nil
		default:
			return a.set(ctx, s.Knob, value, cmp.Or(scope, "user"))
		}
	}
	if key == "" {
		return "", a.errorf("type /config, /config KEY VALUE [local|project|user] or /config unset KEY [local|project|user]")
	}
	return "", a.errorf("there is no setting %q that /config can change. %s", key, Near(a.words, key, known, "/config lists them; lists are edited in the file."))
}

func (a answerer) settingText(s Setting) string {
	if s.Value == "" {
		if s.OneOf != nil {
			return a.t("%s is not set. Values: %s", s.Key, strings.Join(s.OneOf, ", "))
		}
		return a.t("%s is not set. It takes %s.", s.Key, Takes(a.words, s.Knob))
	}
	return a.t("%s is %s (%s). It takes %s.", s.Key, visible.Indented(s.Value), s.Origin, Takes(a.words, s.Knob))
}

// picture answers what is drawn.
func (a answerer) picture(name string) (text string, ok bool) {
	switch name {
	case "context":
		return a.contextText(), true
	case "cost":
		return a.costText(), true
	}
	return "", false
}

// contextText draws what fills the context: a hundred cells, one for each per cent.
func (a answerer) contextText() string {
	u := a.c.Agent.ContextUsage()
	if u.Window <= 0 {
		return a.t("The context of %s holds %d tokens.", u.Model, u.Total)
	}
	parts := Context(a.c)
	share := func(tokens int64) float64 { return float64(tokens) * 100 / float64(u.Window) }
	const cells, width = 100, 25 // which a narrow screen has room for
	var picture strings.Builder
	for _, p := range parts[:len(parts)-1] {
		n := int(share(p.Tokens) + 0.5)
		if p.Tokens > 0 {
			n = max(n, 1) // what is there is seen
		}
		picture.WriteString(strings.Repeat(p.Mark, n))
	}
	drawn := []rune(picture.String())
	drawn = append(drawn, slices.Repeat([]rune(parts[len(parts)-1].Mark), max(cells-len(drawn), 0))...)[:cells]
	text := a.t("The context of %s holds %s of %s tokens (%.0f%%).", u.Model, plural.Thousands(u.Total), plural.Thousands(u.Window), share(u.Total)) + "\n"
	for line := range slices.Chunk(drawn, width) {
		text += "  " + string(line) + "\n"
	}
	text += table(func(row func(...any)) {
		for _, p := range parts {
			row("  "+p.Mark+" "+a.t(p.Name), p.Tokens, fmt.Sprintf("%.1f%%", share(p.Tokens)))
		}
	})
	if u.CompactAt > 0 {
		text += "\n" + a.t("The conversation is compacted at %d tokens.", u.CompactAt)
	}
	return text
}

// costText tells what the session has cost, agents included, what for, and in which turns.
func (a answerer) costText() string {
	used := a.c.Agent.Usage()
	if len(used) == 0 {
		return Cost(a.c, a.words)
	}
	open := a.t("It has been open for %s.", time.Since(a.c.Began).Round(time.Second))
	text := Cost(a.c, a.words) + " " + open + "\n" + table(func(row func(...any)) {
		// a column for each model: there are few of them, and a narrow screen has room for them
		heads := []lang.Text{"model", "input", "cache read", "cache write", "output"}
		rows := make([][]any, len(heads))
		for i, head := range heads {
			rows[i] = []any{a.t(head)}
		}
		for _, name := range slices.Sorted(maps.Keys(used)) {
			u := used[name]
			for i, cell := range []any{name, u.Input, u.CacheRead, u.CacheWrite, u.Output} {
				rows[i] = append(rows[i], cell)
			}
		}
		for _, r := range rows {
			row(r...)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := a.c.Journal().Path()
	if path == "" {
		return text
	}
	o, err := harness.Look(ctx, path)
	if err != nil {
		return text
	}
	return text + a.turnsText(o.Turns)
}

// turnsText plots what the last turns have cost, and names the most expensive one.
func (a answerer) turnsText(turns []harness.Turn) string {
	const most = 60
	from := max(0, len(turns)-most)
	highest := -1
	for i, t := range turns {
		if i >= from && t.Cost > 0 && (highest < 0 || t.Cost > turns[highest].Cost) {
			highest = i
		}
	}
	if highest < 0 {
		return ""
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var plot strings.Builder
	for _, t := range turns[from:] {
		plot.WriteRune(levels[min(int(t.Cost/turns[highest].Cost*float64(len(levels))), len(levels)-1)])
	}
	return "\n\n" + a.t("By turn, %d to %d:", from+1, len(turns)) + "\n  " + plot.String() + "\n" +
		a.t("The most expensive one was turn %d, $%.4f: %s", highest+1, turns[highest].Cost, oneLine(turns[highest].Prompt))
}

// standing answers what is about the whole session.
func (a answerer) standing(name string) (text string, ok bool) {
	switch name {
	case "status":
		return a.statusText(), true
	case "hooks":
		return a.hooksText(), true
	}
	return a.picture(name)
}

// statusText says what this conversation is made of.
func (a answerer) statusText() string {
	connected := 0
	servers := a.c.MCP.Status()
	for _, s := range servers {
		if s.State == mcp.Connected {
			connected++
		}
	}
	var files []string
	for _, f := range a.c.World.Project.Counts.Files() {
		if f.Path != "" {
			files = append(files, visible.Indented(f.Path))
		}
	}
	var memory []string
	for _, f := range a.c.Instructions() {
		memory = append(memory, visible.Indented(f.Path))
	}
	return table(func(row func(...any)) {
		row(a.t("Version"), a.c.Version)
		row(a.t("Session"), a.c.Agent.Session())
		row(a.t("Folder"), visible.Indented(a.c.Dir()))
		for _, dir := range a.c.World.Engine.Guard().Roots()[1:] {
			row("  "+a.t("added"), visible.Indented(dir))
		}
		row(a.t("Model"), a.c.Agent.ContextUsage().Model)
		row(a.t("Provider"), strings.TrimSpace(a.c.Provider+" "+a.keyText(a.c.KeySource)))
		row(a.t("Permission mode"), a.c.World.Engine.Policy().Mode())
		row(a.t("Sandbox"), a.sandboxText())
		row(a.t("MCP servers"), a.t("%d of %d connected", connected, len(servers)))
		row(a.t("Settings"), cmp.Or(strings.Join(files, ", "), a.t("none")))
		row(a.t("Instructions"), cmp.Or(strings.Join(memory, ", "), a.t("none")))
	})
}

func (a answerer) keyText(source string) string {
	if source == "" {
		return ""
	}
	return a.t("(key: %s)", source)
}

func (a answerer) sandboxText() string {
	s := a.c.World.Sandbox()
	switch {
	case !s.Known:
		return a.t("not tried yet")
	case s.Mode == settings.SandboxOff:
		return a.t("off")
	}
	return s.Tier.Kind.String()
}

// hooksText lists the hooks that run, in their order, and those that are not trusted.
func (a answerer) hooksText() string {
	hooks, off := a.c.World.Project.Counts.Hooks(), a.c.World.Project.Counts.Flag("disableAllHooks")
	text := a.t("No hooks are set up. Add them under \"hooks\" in the settings; see 'haft help hooks'.")
	if off {
		text = a.t("No hooks run: disableAllHooks is set.")
	}
	if len(hooks) > 0 {
		text = table(func(row func(...any)) {
			for _, h := range hooks {
				row(h.Event, visible.Indented(cmp.Or(h.Matcher, "*")), oneLine(cmp.Or(h.Command, h.URL, h.Prompt)), h.Origin)
			}
		})
	}
	if len(hooks) > 0 && off {
		text += "\n" + a.t("Only your administrator's hooks run: disableAllHooks is set.")
	}
	for _, h := range a.c.World.Project.Held {
		if h.Kind == trust.Hook {
			text += "\n" + visible.Indented(h.String())
		}
	}
	return text
}

// stylesText lists the output styles and marks the one of this session.
func (a answerer) stylesText() string {
	return table(func(row func(...any)) {
		for _, st := range a.c.World.Project.Library.Styles.List().Styles {
			now := ""
			if st.Name == a.c.Style {
				now = a.t("in use")
			}
			row(st.Name, now, visible.Indented(st.Description))
		}
	}) + "\n" + a.t("Choose one with: %s", "/output-style STYLE [local|project|user]")
}

// chooseStyle keeps an output style: STYLE [local|project|user]. The session that runs keeps
// its own, which is part of the system prompt that the provider has cached.
func (a answerer) chooseStyle(ctx context.Context, args string) (string, error) {
	name, scope := cutScope(args, "local", "project", "user")
	st, err := a.c.World.Project.Library.Styles.Find(name)
	if err != nil {
		return "", err
	}
	for _, s := range Settings(a.c) {
		if s.Key == "outputStyle" {
			return a.set(ctx, s.Knob, st.Name, cmp.Or(scope, "user"))
		}
	}
	return "", a.errorf("could not choose the output style %s: there is no setting to save it in", st.Name)
}

// agentsText tells which agents there are, and who works and has worked.
func (a answerer) agentsText() string {
	kinds := table(func(row func(...any)) {
		for _, d := range a.c.World.Project.Library.Agents.List().Definitions {
			row(d.Name, d.Description)
		}
	})
	crew := a.c.Agents()
	if len(crew) == 0 {
		return kinds
	}
	return kinds + "\n\n" + a.t("Of this session:") + "\n" + table(func(row func(...any)) {
		for _, k := range crew {
			row(k.ID, cmp.Or(k.Name, k.Kind), State(a.words, k.State()), a.words.Count(k.ToolUses, "call")+", "+a.words.Count(int(k.Tokens), "token"), oneLine(k.Description))
		}
	})
}

// mcpText tells how the MCP servers are, connects to one again, or switches one on or off
// for the session.
func (a answerer) mcpText(args string) (string, error) {
	what, name, _ := strings.Cut(args, " ")
	name = strings.TrimSpace(name)
	switch {
	case what == "":
		return a.serversText(), nil
	case !slices.Contains([]string{"reconnect", "enable", "disable"}, what) || name == "":
		return "", a.errorf("type /mcp, or /mcp reconnect|enable|disable SERVER")
	}
	host, err := a.c.MCP.Open()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if what == "reconnect" {
		err = host.Reconnect(ctx, name)
	} else {
		err = host.Toggle(name, what == "enable")
	}
	if err != nil {
		return "", err
	}
	a.c.MCP.Refresh()
	return a.serversText(), nil
}

func (a answerer) serversText() string {
	list := a.c.MCP.Status()
	if len(list) == 0 {
		return a.t("No MCP servers are set up. Add one with: haft mcp add")
	}
	return table(func(row func(...any)) {
		for _, s := range list {
			row(s.Name, State(a.words, string(s.State)), s.Type, a.words.Count(len(s.Tools), "tool"), oneLine(s.Error))
		}
	})
}

// sessionsText lists the sessions that can be gone on with.
func (a answerer) sessionsText(id string) (string, error) {
	if id != "" {
		return "", a.errorf("you cannot switch to another conversation here. Start haft with: haft --resume %s", id)
	}
	list, err := session.Open("").List(&session.ListOptions{Cwd: a.c.Dir(), Limit: 20})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return a.t("There are no sessions in this folder."), nil
	}
	return table(func(row func(...any)) {
		for _, i := range list {
			now := ""
			if i.ID == a.c.Agent.Session() {
				now = a.t("this one")
			}
			row(i.ID, i.Modified.Local().Format("2006-01-02 15:04"), oneLine(cmp.Or(i.Title, i.Prompt)), now)
		}
	}) + "\n" + a.t("Continue one with: haft --resume ID"), nil
}

// rewindText shows what a rewind would do, or does it: "", MESSAGE, apply, apply
// MESSAGE.
func (a answerer) rewindText(args string) (string, error) {
	first, rest, _ := strings.Cut(args, " ")
	to, apply := args, false
	if first == "apply" {
		to, apply = strings.TrimSpace(rest), true
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	plan, err := a.c.PlanRewind(ctx, to)
	if err != nil {
		return "", err
	}
	text := a.planText(plan)
	if !apply || len(plan.Steps) == 0 {
		if len(plan.Steps) > 0 {
			text += "\n" + a.t("To do it: %s", strings.TrimSpace("/rewind apply "+to))
		}
		return text, nil
	}
	undo, err := a.c.Rewind(ctx, plan, false)
	var conflict *checkpoint.ConflictError
	switch {
	case errors.As(err, &conflict):
		return "", errors.New(text + "\n" + a.t("Another program has changed some of these files since, so nothing was done. To rewind anyway: 'haft rewind --force'"))
	case err != nil:
		return "", fmt.Errorf("%s\n%w", text, err)
	}
	return text + "\n" + a.t("Done. To undo: %s", "/rewind apply "+undo), nil
}

func (a answerer) planText(p *checkpoint.Plan) string {
	if len(p.Steps) == 0 {
		return a.t("No file would change.")
	}
	text := table(func(row func(...any)) {
		for i := range p.Steps {
			s := &p.Steps[i]
			path := s.Path
			if rel, ok := pathin.Below(a.c.Dir(), path); ok {
				path = rel
			}
			note := ""
			if s.Foreign {
				note = a.t("changed by another program")
			}
			row(Action(a.words, s), visible.Indented(path), fmt.Sprintf("+%d −%d", s.Insertions, s.Deletions), note)
		}
	})
	if p.Uncovered != "" {
		text += "\n" + a.t("Not everything can be restored: %s", oneLine(p.Uncovered))
	}
	return text
}

// table sets rows in columns.
func table(fill func(row func(...any))) string {
	var rows [][]string
	var widths []int
	fill(func(cells ...any) {
		var row []string
		for i, cell := range cells {
			text := fmt.Sprint(cell)
			row = append(row, text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(text))
		}
		rows = append(rows, row)
	})
	var b strings.Builder
	for _, row := range rows {
		line, behind := "", 0
		for i, text := range row {
			line += strings.Repeat(" ", behind) + text
			behind = widths[i] - columns(text) + 2
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// columns is how much room a text takes on a terminal: Chinese, Japanese and Korean
// characters take two columns, marks above and below others none.
func columns(text string) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
