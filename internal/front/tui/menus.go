package tui

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// The menus are the dialogs of commands of the screen, such as /config.
type menus struct {
	entry

	noted     bool // the question about a note was answered
	preferred bool // what the settings say about the screen was taken over
}

// export writes the conversation to a file, or into the clipboard.
func (a *menus) export(args string) {
	if args != "clipboard" {
		a.local("export", args)
		return
	}
	talk := a.talk
	go func() {
		text, err := talk.Past.Markdown(a.ctx)
		a.later(func() {
			a.dirty = true
			if err != nil {
				a.note(a.t("Could not export the conversation: %s", err))
				return
			}
			a.copyText(a.t("the conversation"), text)
		})
	}()
}

// mcp lists the MCP servers; one is chosen to look at it and to connect, switch or log in.
func (a *menus) mcp(args string) {
	list := a.talk.Input.Servers()
	if args != "" || len(list) == 0 {
		a.local("mcp", args)
		return
	}
	var items []pick
	for _, s := range list {
		detail := fmt.Sprintf("%s · %s", a.stateText(s), a.lang.Count(len(s.Tools), "tool"))
		if s.Error != "" {
			detail += " · " + strings.Join(strings.Fields(s.Error), " ")
		}
		items = append(items, pick{value: s.Name, text: s.Name, detail: detail, also: string(s.Type)})
	}
	a.pop(&picker{title: a.t("MCP servers"), items: items, chooses: "opens it", choose: func(p pick) {
		a.closeOwn()
		for _, s := range list {
			if s.Name == p.value {
				a.server(s)
			}
		}
	}})
}

// server offers what can be done with a server.
func (a *menus) server(s mcp.Status) {
	type act struct {
		text string
		do   func()
	}
	run := func(verb string) func() { return func() { a.local("mcp", verb+" "+s.Name) } }
	acts := []act{{a.t("Show its tools and how it connected"), func() { a.openText(a.t("MCP server %s", s.Name), a.serverText(s)) }}}
	if s.State == mcp.Disabled {
		acts = append(acts, act{a.t("Enable it"), run("enable")})
	} else {
		if s.Config.URL != "" && a.opts.Login != nil {
			acts = append(acts, act{a.t("Log in"), func() { a.loginTo(s.Name) }})
		}
		acts = append(acts, act{a.t("Connect again"), run("reconnect")}, act{a.t("Disable it for this session"), run("disable")})
	}
	var items []string
	for _, x := range acts {
		items = append(items, x.text)
	}
	body := []string{fmt.Sprintf("%s, %s, %s", a.stateText(s), s.Type, a.lang.Count(len(s.Tools), "tool"))}
	if s.Error != "" {
		body = append(body, s.Error)
	}
	a.pop(a.whole(&choices{title: a.t("MCP server %s", visible.Cells(s.Name)), body: body, items: items, at: selection{0, len(items)}, choose: func(i int) {
		a.closeOwn()
		acts[i].do()
	}}))
}

// loginTo logs in to a server in the browser, and connects to it then.
func (a *menus) loginTo(server string) {
	a.show.add(&note{text: a.t("Logging in to %s…", server), quiet: true})
	go func() {
		err := a.opts.Login(a.ctx, server, func(page string) {
			a.later(func() {
				a.show.add(&note{text: a.t("Log in at this page:") + "\n" + page, quiet: true})
				a.dirty = true
			})
		})
		a.later(func() {
			a.dirty = true
			if err != nil {
				a.note(a.t("Could not log in to %s: %s", server, err))
				return
			}
			if a.talk != nil {
				a.local("mcp", "reconnect "+server)
			}
		})
	}()
}

// memory shows the files with instructions and opens one in the editor.
func (a *menus) memory(args string) {
	if args != "" {
		a.local("memory", args)
		return
	}
	var items []pick
	for _, f := range a.talk.Input.NoteFiles() {
		detail := a.t(noteAbout[f.Scope])
		if !f.Exists {
			detail = a.t("%s, does not exist yet", detail)
		}
		items = append(items, pick{value: f.Path, text: a.short(f.Path), detail: detail})
	}
	for _, path := range a.talk.Input.Instructions() {
		if !hasValue(items, path) {
			items = append(items, pick{value: path, text: a.short(path), detail: a.t("sent to the model")})
		}
	}
	a.pop(&picker{title: a.t("Which instructions? (#NOTE adds a note without an editor)"), items: items, chooses: "opens it in your editor", choose: func(p pick) {
		a.closeOwn()
		a.editFile(p.value)
	}})
}

func hasValue(items []pick, value string) bool {
	for _, i := range items {
		if i.value == value {
			return true
		}
	}
	return false
}

// keepNote asks where a note is kept: one line that begins with a #. It may have been meant
// as a prompt. It reports false for what is not a note, such as a text with a heading.
func (a *menus) keepNote(text string) bool {
	if !strings.HasPrefix(text, "#") || strings.Contains(text, "\n") || strings.Trim(text, "# ") == "" {
		return false
	}
	words := strings.TrimSpace(strings.TrimLeft(text, "#"))
	files := a.talk.Input.NoteFiles()
	var items []string
	for _, f := range files {
		items = append(items, fmt.Sprintf("%s: %s", a.short(f.Path), a.t(noteAbout[f.Scope])))
	}
	items = append(items, a.t("do not save it: send it as a prompt"))
	a.pop(a.whole(&choices{title: a.t("Where should this note be saved?"), body: []string{words}, items: items, at: selection{0, len(items)},
		close: func() {
			if a.write.Empty() && !a.noted {
				a.write.Set(text)
			}
			a.noted = false
		},
		choose: func(i int) {
			a.noted = true
			a.closeOwn()
			if i == len(files) {
				a.say(text)
				return
			}
			a.local("memory", "add "+files[i].Scope+" "+words)
		}}))
	return true
}

// permissions lists the rules with where they come from; they can be removed, and others
// added.
func (a *menus) permissions(args string) {
	if args != "" {
		a.local("permissions", args)
		return
	}
	items := []pick{{value: "+", text: a.t("Add a rule…"), detail: a.t("the mode is %s; shift+tab changes it", a.talk.Rules.Mode())}}
	rules := a.talk.Rules.Rules()
	for i, r := range rules {
		items = append(items, pick{value: fmt.Sprint(i), text: fmt.Sprintf("%-5s %s", r.Behavior, r.Text), detail: r.Origin})
	}
	at := func(p pick) (r RuleLine, ok bool) {
		var i int
		if _, err := fmt.Sscan(p.value, &i); err != nil || i >= len(rules) {
			return r, false
		}
		return rules[i], true
	}
	a.pop(&picker{title: a.t("Permission rules: deny overrides ask, and ask overrides allow"), items: items, chooses: "adds or explains", acts: "removes it",
		choose: func(p pick) {
			a.closeOwn()
			if r, ok := at(p); ok {
				a.show.add(&note{text: visible.Cells(a.t("%s %s comes from %s.", r.Behavior, r.Text, r.Origin)), quiet: true})
				return
			}
			a.askRule()
		},
		act: func(p pick) {
			if r, ok := at(p); ok {
				a.closeOwn()
				a.local("permissions", strings.TrimSpace(fmt.Sprintf("remove %s %s %s", r.Behavior, r.Text, r.Scope)))
			}
		}})
}

// askRule asks for a new rule.
func (a *menus) askRule() {
	var f *form
	valid := func(rule string) error {
		return a.talk.Rules.CheckRule(optionAt(ruleKinds, f.values["behavior"]), rule)
	}
	f = newForm(a.t("Which rule?"), []string{a.t("Such as %s", "Bash(git diff:*), Read(./secrets/**), Edit(/src/**), WebFetch(domain:example.com), mcp__server")}, []field{
		{name: "behavior", label: a.t("What to do with calls that match"), options: ruleKinds, value: "1", required: true},
		{name: "rule", label: a.t("Rule"), required: true, check: valid},
		{name: "scope", label: a.t("Saved in"), options: a.scopeOptions("session"), value: "2", required: true},
	}, func(v map[string]string) {
		a.closeOwn()
		a.local("permissions", fmt.Sprintf("add %s %s %s", optionAt(ruleKinds, v["behavior"]), v["rule"], optionAt([]string{"session", "local", "project", "user"}, v["scope"])))
	})
	a.pop(f)
}

// config lists the settings; one is chosen, given a value and a file.
func (a *menus) config(args string) {
	if args != "" {
		a.local("config", args)
		return
	}
	list := a.talk.Rules.Settings()
	var items []pick
	for _, s := range list {
		value := "-"
		if s.Value != "" {
			value = s.Value
		}
		items = append(items, pick{value: s.Key, text: s.Key, detail: value + "  " + answers.Meaning(a.lang, s.Knob)})
	}
	a.pop(&picker{title: a.t("Which setting?"), items: items, chooses: "changes it", choose: func(p pick) {
		a.closeOwn()
		for _, s := range list {
			if s.Key == p.value {
				a.askSetting(s)
			}
		}
	}})
}

// askSetting asks for a value and where it is kept. An empty value takes the key out.
func (a *menus) askSetting(s SettingLine) {
	options := s.OneOf
	if options != nil {
		options = append(append([]string{}, options...), a.t("(not set)"))
	}
	body := []string{answers.Meaning(a.lang, s.Knob), a.t("It takes %s.", answers.Takes(a.lang, s.Knob)), a.t("It is not set.")}
	if s.Value != "" {
		body[2] = a.t("It is now %s (%s).", s.Value, s.Origin)
	}
	value := field{name: "value", label: a.t("Value"), options: options, help: a.t("empty: not set"), value: s.Value}
	if options != nil {
		value.help, value.required, value.value = "", true, strconv.Itoa(max(slices.Index(options, s.Value), 0)+1)
	}
	a.pop(newForm(s.Key, body, []field{value, {name: "scope", label: a.t("Saved in"), options: a.scopeOptions(), value: "3", required: true}}, func(v map[string]string) {
		a.closeOwn()
		typed, scope := v["value"], optionAt([]string{"local", "project", "user"}, v["scope"])
		if options != nil {
			typed = optionAt(s.OneOf, typed)
		}
		if typed == "" {
			a.local("config", "unset "+s.Key+" "+scope)
			return
		}
		a.local("config", s.Key+" "+typed+" "+scope)
	}))
}

// marked says of a value that it is the one in use.
func (a *menus) marked(is bool) string {
	if !is {
		return ""
	}
	return " ✓ " + a.t("in use")
}

func (a *menus) chooseModel(name string) {
	if name != "" {
		a.local("model", name)
		return
	}
	items := make([]pick, len(models))
	for i, m := range models {
		items[i] = m
		full := a.talk.Turns.Resolve(m.value)
		items[i].detail = a.t(lang.Text(m.detail)) + " (" + full + ")" + a.marked(full == a.status.model)
		if known := catalog.Lookup(full); known.Known {
			items[i].detail += " · " + known.About()
		}
	}
	a.pop(&picker{title: a.t("Which model? For another one: /model NAME"), items: items, choose: func(p pick) {
		a.closeOwn()
		a.local("model", p.value)
	}})
}

// background moves the commands and agents that the turn waits for to the background,
// which the model is told, or lists what runs there.
func (a *menus) background() {
	if a.talk == nil || a.working == nil || !a.talk.Turns.Background("") {
		a.listTasks()
		return
	}
	a.hint = a.t("moved to the background; ctrl+b lists it")
}

// listTasks shows what runs in the background.
func (a *menus) listTasks() {
	var items []pick
	tasks := maps.Clone(a.tasks) // one may end while the list is there
	for _, t := range tasks {
		items = append(items, pick{value: t.ID, text: taskName(t), detail: a.taskDetail(t)})
	}
	if len(items) == 0 {
		a.hint = a.t("nothing is running in the background")
		return
	}
	slices.SortFunc(items, func(x, y pick) int { return tasks[x.value].Started.Compare(tasks[y.value].Started) })
	a.pop(&picker{title: a.t("In the background"), items: items, chooses: "shows its output", acts: "stops it",
		choose: func(p pick) {
			a.closeOwn()
			a.showTask(tasks[p.value])
		},
		act: func(p pick) {
			a.closeOwn()
			if err := a.talk.Turns.StopTask(a.ctx, p.value); err != nil {
				a.note(a.lang.Error(err))
			}
		}})
}

func (a *menus) taskDetail(t agent.Task) string {
	detail := seconds(time.Since(t.Started))
	if t.ToolUses > 0 {
		detail += ", " + a.lang.Count(t.ToolUses, "call")
	}
	if t.LastTool != "" {
		detail += ", " + t.LastTool
	}
	return detail
}

// showTask shows what something in the background has written, the end of it.
func (a *menus) showTask(t agent.Task) {
	text, err := tailOf(t.OutputFile, 256<<10)
	if err != nil {
		a.note(a.t("Could not read the output: %s", err))
		return
	}
	if t.Type == "local_agent" {
		text = a.agentSteps(text)
	}
	if strings.TrimSpace(text) == "" {
		text = a.t("(nothing so far)")
	}
	a.openText(taskName(t)+" · "+t.OutputFile, ansi.Strip(text))
	a.viewer.top = 1 << 30
}

// tailOf returns the end of a file, from the beginning of a line.
func tailOf(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-most, 0)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return "", err
	}
	text := string(raw)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, nil
}

// theme changes the colours, and keeps them for later sessions.
func (a *menus) theme(name string) {
	if name != "" {
		if a.useTheme(name) {
			a.local("config", "theme "+name+" user")
			return
		}
		var names []string
		for _, t := range themes {
			names = append(names, string(t.name))
		}
		a.note(a.t("There is no theme %s. Values: %s", visible.Cells(name), strings.Join(names, ", ")))
		return
	}
	now := string(style.Auto)
	for _, s := range a.talk.Rules.Settings() {
		if s.Key == "theme" && s.Value != "" {
			now = s.Value
		}
	}
	var items []pick
	for _, t := range themes {
		items = append(items, pick{value: string(t.name), text: string(t.name), detail: a.t(t.does) + a.marked(string(t.name) == now)})
	}
	a.pop(&picker{title: a.t("Which theme?"), items: items, choose: func(p pick) {
		a.closeOwn()
		a.theme(p.value)
	}})
}

// prefer takes over what the settings say about the screen: the language, the colours and the
// keys of the editor, unless the user has said otherwise for now.
func (a *menus) prefer() {
	defer func() { a.talk.Driver.Speak(a.lang) }()
	for _, s := range a.talk.Rules.Settings() {
		switch {
		case s.Value == "":
		case s.Key == "uiLanguage" && !a.opts.FixedLang:
			if words, err := lang.Load(s.Value); err == nil {
				a.lang = words
			}
		case s.Key == "theme" && !a.opts.FixedTheme:
			a.useTheme(s.Value)
		case s.Key == "editorMode" && !a.preferred:
			a.write.Vim(s.Value == "vim")
		}
	}
	a.preferred = true
}

// vim switches vim's keys on or off.
func (a *menus) vim(string) {
	a.write.Vim(a.write.VimMode() == "")
	mode := "normal"
	text := a.t("The usual keys are active again.")
	if a.write.VimMode() != "" {
		mode, text = "vim", a.t("vim keys are active: esc for normal mode, i to insert. /vim switches back.")
	}
	a.show.add(&note{text: text, quiet: true})
	a.local("config", "editorMode "+mode+" user")
}

// models are those that the picker offers; /model NAME takes any.
var models = []pick{
	{value: "opus", text: "opus", detail: string(lang.Text("most capable"))},
	{value: "sonnet", text: "sonnet", detail: string(lang.Text("fast and capable"))},
	{value: "haiku", text: "haiku", detail: string(lang.Text("the fastest"))},
	{value: "default", text: "default", detail: string(lang.Text("haft's default"))},
}

// themes are those that /theme offers.
var themes = []struct {
	name style.Background
	does lang.Text
}{
	{style.Auto, "match the terminal"},
	{style.Dark, "for a dark background"},
	{style.Light, "for a light background"},
	{style.DarkBlind, "for a dark background, without red and green"},
	{style.LightBlind, "for a light background, without red and green"},
	{style.DarkBasic, "for a dark background, with the terminal's sixteen colours"},
	{style.LightBasic, "for a light background, with the terminal's sixteen colours"},
	{style.Plain, "without colours"},
}
