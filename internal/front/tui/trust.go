package tui

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/guard/trust"
)

// askTrust asks about what the folder brings and nobody has agreed to. Until
// somebody does, nothing of it counts, so that the question can wait: unless there are
// hooks in it that guard the folder, without which nothing is begun.
func (a *app) askTrust(items []trust.Item) {
	items = slices.DeleteFunc(slices.Clone(items), func(i trust.Item) bool { return a.declined[declinedKey(i)] })
	if len(items) == 0 {
		return
	}
	var body, all []string
	for _, i := range items {
		line := strings.Join(strings.Fields(strings.ReplaceAll(i.String(), a.talk.Turns.Dir()+"/", "")), " ")
		body, all = append(body, line), append(all, "── "+line)
		if text := strings.TrimSpace(i.Text); text != i.Name {
			all = append(all, text)
		}
		all = append(all, "")
	}
	q := &asked{}
	title, without := a.t("This folder contains %s that would run commands, connect to servers or change permissions:", a.lang.Count(len(items), "item")), a.t("Not now: nothing listed here is used")
	if a.unguarded = slices.ContainsFunc(items, func(i trust.Item) bool { return i.Guards }); a.unguarded {
		title = a.t("This folder contains %s, including hooks that guard it. Your prompts wait for your answer:", a.lang.Count(len(items), "item"))
		without = a.t("Continue without its hooks: nothing listed here is used")
	}
	c := &choices{
		title: title,
		body:  body, items: []string{without, a.t("Trust everything listed here, exactly as it is now")},
		full: func() { a.openText(a.t("what this folder contains"), strings.Join(all, "\n")) },
	}
	c.choose = func(i int) {
		a.withdraw(q)
		if i == 1 {
			a.trust(items)
			return
		}
		for _, i := range items {
			a.declined[declinedKey(i)] = true
		}
		a.unguarded = false
		a.submitPending()
	}
	q.panel = c
	a.asks = append(a.asks, q)
	a.nextAsk()
}

// declinedKey names an item as it is: if the folder changes it, the user is asked again.
func declinedKey(i trust.Item) string { return strings.Join([]string{i.String(), i.Text}, "\x00") }

// trust keeps that the user agreed, and opens the conversation again with what
// counts now: hooks, servers and rules are those of a conversation from its beginning.
func (a *app) trust(items []trust.Item) {
	if err := a.talk.Rules.Trust(a.ctx, items); err != nil {
		a.note(a.lang.Error(err))
		return
	}
	said := a.t("Trusted. To revoke it: 'haft trust --revoke --all'.")
	if !a.idle() {
		said = a.t("Trusted. It takes effect when the running turn and background work have ended; nothing is stopped. To revoke it: 'haft trust --revoke --all'.")
	}
	a.show.add(&note{text: said, quiet: true})
	a.reopen()
}

// reopening says whether the conversation is to be opened again.
type reopening int

const (
	notAgain reopening = iota
	atOnce
	whenIdle // something runs that must not end with it
)

// reopen has the conversation opened again, once nothing is lost by it.
func (a *app) reopen() {
	a.reopens = atOnce
	if !a.idle() {
		a.reopens = whenIdle
	}
}

// reopenIdle opens the conversation again if that is due.
func (a *app) reopenIdle() {
	if a.reopens == notAgain || a.talk == nil || a.dialog != nil || !a.idle() {
		return
	}
	if a.reopens == whenIdle {
		a.show.add(&note{text: a.t("The new settings are in use now."), quiet: true})
	}
	a.open(a.again())
}

// idle reports whether nothing runs or is about to that would end with the conversation.
func (a *app) idle() bool {
	return a.working == nil && len(a.commandsRun)+len(a.tasks) == 0 && !a.talk.Driver.Busy() && a.talk.Turns.Running() == ""
}

// again is the opening that continues the conversation where it is, which may be before messages that were taken back, with
// its mode and rules.
func (a *app) again() Opening {
	kept := a.talk.Rules.Keep()
	past := a.talk.Past.Said(a.ctx)
	if len(past) == 0 {
		return Opening{Kept: kept}
	}
	return Opening{Resume: a.talk.State.Session(), At: past[len(past)-1].UUID, Kept: kept, Shown: true}
}
