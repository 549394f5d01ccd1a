package tui

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/trust"
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
	title, without := a.t("This folder brings %s that would run, connect or allow something:", a.lang.Count(len(items), "thing")), a.t("Not now: none of it is used")
	if a.unguarded = slices.ContainsFunc(items, func(i trust.Item) bool { return i.Guards }); a.unguarded {
		title = a.t("This folder brings %s, including hooks that guard it. Your prompts wait for your answer:", a.lang.Count(len(items), "thing"))
		without = a.t("Continue without its hooks: none of it is used")
	}
	c := &choices{
		title: title,
		body:  body, items: []string{without, a.t("Trust all of it, exactly as it is now")},
		full: func() { a.openText(a.t("what this folder brings"), strings.Join(all, "\n")) },
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

// trust keeps that the person agreed, and opens the conversation again with what
// counts now.
func (a *app) trust(items []trust.Item) {
	if err := a.talk.Rules.Trust(a.ctx, items); err != nil {
		a.note(a.t("could not save trust: %s", err))
		return
	}
	a.show.add(&note{text: a.t("Trusted. To revoke it: 'haft trust --revoke --all'."), quiet: true})
	a.open(a.again())
}

// again is the opening that continues the conversation where it is, which may be before messages that were taken back, with
// its mode and rules.
func (a *app) again() Opening {
	kept := a.talk.Rules.Keep()
	past := a.talk.Past.Said(a.ctx)
	if len(past) == 0 {
		return Opening{Kept: kept}
	}
	return Opening{Resume: a.talk.State.Session(), At: past[len(past)-1].UUID, Kept: kept}
}
