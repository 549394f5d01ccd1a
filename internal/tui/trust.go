package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/trust"
)

// askTrust asks about what the folder brings and nobody has agreed to. Until
// somebody does, nothing of it counts, so that the question can wait: unless there are
// hooks in it that guard the folder, without which nothing is begun.
func (a *app) askTrust(items []trust.Item) {
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
	title, without := fmt.Sprintf("This folder brings %s that would run, connect or allow something:", count(len(items), "thing")), "Not now: nothing of it counts"
	if a.unguarded = slices.ContainsFunc(items, func(i trust.Item) bool { return i.Guards }); a.unguarded {
		title = fmt.Sprintf("This folder brings %s, among them hooks that guard it. What you write waits for your answer:", count(len(items), "thing"))
		without = "Continue without its hooks: nothing of it counts"
	}
	c := &choices{
		title: title,
		body:  body, items: []string{without, "Trust all of it, exactly as it is now"},
		full: func() { a.openText("what this folder brings", strings.Join(all, "\n")) },
	}
	c.choose = func(i int) {
		a.withdraw(q)
		if i == 1 {
			a.trust(items)
			return
		}
		a.unguarded = false
		a.submitPending()
	}
	q.panel = c
	a.asks = append(a.asks, q)
	a.nextAsk()
}

// trust keeps that the person agreed, and opens the conversation again with what
// counts now.
func (a *app) trust(items []trust.Item) {
	if err := a.talk.Rules.Trust(a.ctx, items); err != nil {
		a.note("trust could not be kept: " + err.Error())
		return
	}
	a.show.add(&note{text: "Trusted. 'haft trust --revoke --all' takes it back.", quiet: true})
	a.open(a.again())
}

// again is the opening that goes on with the conversation as it is.
func (a *app) again() Opening {
	if len(a.talk.Past.Said(a.ctx)) == 0 {
		return Opening{}
	}
	return Opening{Resume: a.talk.State.Session()}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
