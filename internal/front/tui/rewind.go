package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// rewind goes back to an earlier message: the conversation goes on before it, its
// text is there to be changed, and files can be brought back too.
func (a *app) rewind() {
	if a.talk == nil {
		return
	}
	list := turnBacks(a.talk.Past.Said(a.ctx))
	if len(list) == 0 {
		a.hint = a.t("there is no message to go back to")
		return
	}
	var items []pick
	for i, t := range list {
		items = append(items, pick{value: strconv.Itoa(i), text: strings.Join(strings.Fields(t.text), " "), detail: a.ago(time.Since(t.when))})
	}
	a.pop(&picker{title: a.t("Go back to before which message?"), items: items, choose: func(p pick) {
		a.closeOwn()
		if i, err := strconv.Atoi(p.value); err == nil {
			a.rewindTo(list[i])
		}
	}})
}

// turnBacks are the person's messages, newest first.
func turnBacks(past []session.Entry) []turnBack {
	var list []turnBack
	before := ""
	for _, e := range past {
		if text := harness.Typed(e.Message.Content); e.Message.Role == model.User && text != "" {
			list = append(list, turnBack{e.UUID, before, text, e.Time})
		}
		before = e.UUID
	}
	slices.Reverse(list)
	return list
}

// rewindTo asks what is to be taken back, if there is something besides the
// conversation.
func (a *app) rewindTo(t turnBack) {
	plan, err := a.talk.Past.PlanRewind(a.ctx, t.uuid)
	if err != nil || len(plan.Steps) == 0 {
		a.goBack(t, a.talk.Rules.Keep(), "")
		return
	}
	var body []string
	foreign := false
	for _, s := range plan.Steps {
		line := fmt.Sprintf("%s  %s  +%d −%d", answers.Action(a.lang, &s), a.short(s.Path), s.Insertions, s.Deletions)
		if s.Foreign {
			line, foreign = line+"  "+a.t("(changed by another program since)"), true
		}
		body = append(body, line)
	}
	if plan.Uncovered != "" {
		body = append(body, a.t("Not everything can be restored: %s", plan.Uncovered))
	}
	files := func() (said string, ok bool) {
		undo, err := a.talk.Past.Rewind(a.ctx, plan, false)
		if err != nil {
			a.note(a.t("Could not restore the files: %s", err))
			return "", false
		}
		return a.t("Restored %s. To undo, quit haft and run: haft rewind %s --to %s", a.lang.Count(len(plan.Steps), "file"), a.talk.State.Session(), undo), true
	}
	items := []string{a.t("Conversation and files"), a.t("Only the conversation"), a.t("Only the files"), a.t("Nothing")}
	if foreign {
		body = append(body, a.t("Another program has changed some of these files, so none can be restored here. To restore them anyway, quit haft and run: haft rewind %s --to %s --force", a.talk.State.Session(), t.uuid))
	}
	a.pop(a.whole(&choices{title: a.t("What should be rewound?"), body: body, items: items, choose: func(i int) {
		a.closeOwn()
		switch i {
		case 0:
			if said, ok := files(); ok {
				a.goBack(t, a.talk.Rules.Keep(), said)
			}
		case 1:
			kept := a.talk.Rules.Keep()
			kept.Unchanged(plan)
			a.goBack(t, kept, "")
		case 2:
			if said, ok := files(); ok {
				a.show.add(&note{text: said, quiet: true})
			}
		}
	}}))
}

// goBack continues before a message. What is said about it comes last, where it is seen.
func (a *app) goBack(t turnBack, kept *harness.Kept, said string) {
	a.write.Set(t.text)
	first, _, _ := strings.Cut(t.text, "\n")
	a.show.add(&note{text: a.t("— back to before: %s —", first), quiet: true})
	if t.before == "" {
		a.open(Opening{Kept: kept, Note: said})
		return
	}
	a.open(Opening{Resume: a.talk.State.Session(), At: t.before, Kept: kept, Note: said})
}

// ago is a time in the past for people.
func (a *app) ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return a.t("just now")
	case d < time.Hour:
		return a.t("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return a.t("%d h ago", int(d.Hours()))
	}
	return a.t("%d days ago", int(d.Hours()/24))
}
