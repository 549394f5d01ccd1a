package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// submit says something: to the model, to a command, to the shell.
func (a *app) submit(text string) {
	a.menu = nil
	if text == "/exit" || text == "/quit" {
		a.done = true
		return
	}
	if a.talk == nil && a.failure != nil {
		a.submitNowhere(text)
		return
	}
	if a.talk == nil || a.unguarded {
		a.pending = append(a.pending, text)
		return
	}
	switch {
	case strings.HasPrefix(text, "!") && len(text) > 1:
		a.shell(strings.TrimSpace(text[1:]))
	case !a.ownCommand(text) && !a.keepNote(text):
		a.say(text)
	}
}

// say says something to the conversation: a prompt, or a command.
func (a *app) say(text string) {
	a.talk.Driver.Say(drive.Message{Prompt: agent.Typed(text), Images: a.attached(text)})
}

// answered shows the answer to a command below the command itself, so that it is seen what
// the answer is about.
func (a *app) answered(ev drive.CommandDone) {
	if errors.Is(ev.Err, drive.ErrStopped) {
		return
	}
	a.show.add(&saidBlock{text: promptText(ev.Prompt.Content)})
	text := ev.Text
	if ev.Err != nil {
		text = a.lang.Error(ev.Err)
	}
	a.show.add(&note{text: text, quiet: ev.Err == nil})
}

// shell runs a command of the person's. The model is told of it with the next
// prompt.
func (a *app) shell(command string) {
	c := &call{started: true, since: a.view().now}
	c.Title, c.Detail = "!", visible.Cells(command)
	a.show.add(c)
	talk, before := a.talk, a.working
	a.turn()
	ctx, cancel := context.WithCancel(a.ctx)
	a.commandsRun[c] = cancel
	go func() {
		r, err := talk.Input.Call(ctx, "Bash", map[string]string{"command": command})
		a.later(func() {
			delete(a.commandsRun, c)
			out := r.Text()
			if err != nil {
				out = err.Error()
			}
			c.end = &card.Ending{OK: err == nil && !r.Failed, Took: time.Since(c.since)}
			if ctx.Err() != nil {
				out, c.end.Stopped = a.t("stopped"), true
			}
			cancel()
			a.show.add(&note{text: a.bounded(out, 40), quiet: true})
			if before == nil && !a.turnRuns() {
				a.working = nil
			}
			talk.Driver.Say(drive.Message{Literal: true, Prompt: agent.Prompt{Silent: true, Content: []model.Block{model.TextOf(fmt.Sprintf("<bash-input>%s</bash-input>\n<bash-stdout>%s</bash-stdout>", command, out))}}})
			a.dirty = true
		})
	}()
}

// stopCommands stops the commands that the user runs, and reports whether there were any.
func (a *app) stopCommands() bool {
	for _, cancel := range a.commandsRun {
		cancel()
	}
	return len(a.commandsRun) > 0
}

// submitNowhere takes what is typed while no conversation could be opened: commands that
// need none, and the ways to get one.
func (a *app) submitNowhere(text string) {
	ways := map[string]func(){
		"/new":   func() { a.open(Opening{}) },
		"/login": a.login,
		"/help":  func() { a.openHelp(a.t("help"), a.nowhere()+"\n\n"+a.keysHelp()) },
		"/keys":  a.showKeys,
	}
	if way, ok := ways[strings.TrimSpace(text)]; ok {
		way()
		return
	}
	if typed, ok := strings.CutPrefix(text, "/"); ok {
		name, _, _ := strings.Cut(typed, " ")
		if hint := answers.Near(a.lang, "/"+name, append(slices.Sorted(maps.Keys(ways)), "/exit"), ""); hint != "" {
			a.note(a.t("There is no command /%s.", visible.Cells(name)) + " " + hint)
			return
		}
		a.note(a.t("This needs a conversation.") + " " + a.nowhere())
		return
	}
	why := a.t("No model is set up yet; your prompt is kept until one is.")
	if !a.needsModel() {
		why = a.t("Could not open a conversation. Your prompt is kept until that works. The reason:") + "\n" + a.lang.Error(a.failure)
	}
	a.note(why + "\n" + a.nowhere())
	a.pending = append(a.pending, text)
}

// nowhere says what can be done without a conversation. Without a model none can be started.
func (a *app) nowhere() string {
	if a.needsModel() {
		return a.t("/login sets up a model, /exit quits.")
	}
	return a.t("/login sets up a model, /new starts a conversation, /exit quits.")
}

// login asks which model answers, and opens the conversation again with it.
func (a *app) login() {
	if a.opts.Setup == nil {
		a.note(a.t("Set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL, and restart haft."))
		return
	}
	a.setUp(false)
}

// turnRuns reports whether calls or texts of a turn are live.
func (a *app) turnRuns() bool {
	return a.working != nil && len(a.working.calls)+len(a.working.texts)+len(a.working.think) > 0
}

// bounded keeps the beginning and the end of a text.
func (a *app) bounded(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(all) <= lines {
		return strings.Join(all, "\n")
	}
	head, tail := all[:lines/2], all[len(all)-lines/2:]
	return strings.Join(head, "\n") + "\n… " + a.lang.Count(len(all)-lines, "more line") + " …\n" + strings.Join(tail, "\n")
}

// ownCommand carries out a command that is about this screen, and reports whether it was one.
func (a *app) ownCommand(text string) bool {
	typed, ok := strings.CutPrefix(text, "/")
	name, args, _ := strings.Cut(typed, " ")
	own := a.commands()[name]
	if !ok || own == nil {
		return false
	}
	own(strings.TrimSpace(args))
	return true
}

// local has one of haft's own commands carried out that a menu stands for.
func (a *app) local(name, args string) {
	a.say(strings.TrimSpace("/" + name + " " + args))
}

// allCommands are all that can be typed.
func (a *app) allCommands() []Command {
	list := a.talk.Input.Commands()
	for _, c := range drive.ScreenCommands() {
		list = append(list, Command{Name: c.Name, Description: c.Description})
	}
	return list
}

// help shows what can be typed, and what keys do.
func (a *app) help() {
	all := a.allCommands()
	width := 0
	name := func(c Command) string { return strings.TrimSpace("/" + c.Name + " " + c.Hint) }
	for _, c := range all {
		width = max(width, min(ansi.StringWidth(name(c)), 40))
	}
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s%s  %s\n", name(c), strings.Repeat(" ", max(width-ansi.StringWidth(name(c)), 0)), a.t(lang.Text(c.Description)))
	}
	a.openHelp(a.t("help"), b.String()+"\n"+a.keysHelp())
}

// commands are those of haft that this screen carries out.
func (a *app) commands() map[string]func(args string) {
	return map[string]func(string){
		"help":   func(string) { a.help() },
		"resume": a.resume,
		"rewind": func(string) { a.rewind() },
		"model":  a.chooseModel,
		"tasks":  func(string) { a.listTasks() },
		"keys":   func(string) { a.showKeys() },
		"login":  func(string) { a.login() },
		"memory": a.memory,
		"config": a.config,
		"copy":   a.copyAnswer,
		"export": a.export,
		"mcp":    a.mcp,
		"theme":  a.theme,
		"vim":    a.vim,

		"terminal-setup": func(string) { a.show.add(&note{text: a.terminalSetup(os.Getenv), quiet: true}) },

		"permissions": a.permissions,
		"new":         func(string) { a.open(Opening{}) },
	}
}

func (a *app) chooseModel(name string) {
	if name != "" {
		a.local("model", name)
		return
	}
	items := make([]pick, len(models))
	for i, m := range models {
		items[i] = m
		items[i].detail = a.t(lang.Text(m.detail)) + " (" + a.talk.Turns.Resolve(m.value) + ")"
	}
	a.pop(&picker{title: a.t("Which model? For another one: /model NAME"), items: items, choose: func(p pick) {
		a.closeOwn()
		a.local("model", p.value)
	}})
}

// models are those that the picker offers; /model NAME takes any.
var models = []pick{
	{value: "opus", text: "opus", detail: string(lang.Text("the most able"))},
	{value: "sonnet", text: "sonnet", detail: string(lang.Text("fast and able"))},
	{value: "haiku", text: "haiku", detail: string(lang.Text("the fastest"))},
	{value: "default", text: "default", detail: string(lang.Text("haft's default"))},
}
