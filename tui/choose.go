package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/model"
)

// models are those that the picker offers; /model NAME takes any.
var models = []pick{
	{"opus", "opus", "the most able"},
	{"sonnet", "sonnet", "fast and able"},
	{"haiku", "haiku", "the fastest"},
	{"default", "default", "what haft uses when nobody chose"},
}

func (a *app) chooseModel(name string) {
	if name != "" {
		a.useModel(name)
		return
	}
	items := make([]pick, len(models))
	for i, m := range models {
		items[i] = pick{m.value, m.text, m.detail + " (" + a.talk.Resolve(m.value) + ")"}
	}
	a.pop(&picker{title: "Which model? /model NAME takes any other", items: items, choose: func(p pick) {
		a.closeOwn()
		a.useModel(p.value)
	}})
}

func (a *app) useModel(name string) {
	a.talk.SetModel(a.talk.Resolve(name))
	a.status.model = a.talk.Resolve(name)
	a.show.add(&note{text: "The model is " + a.talk.Resolve(name) + " from the next request on.", quiet: true})
}

// resume goes on with an earlier session.
func (a *app) resume(id string) {
	if id != "" {
		a.open(Opening{Resume: id})
		return
	}
	list, err := a.talk.Sessions()
	if err != nil {
		a.note(err.Error())
		return
	}
	var items []pick
	for _, s := range list {
		if s.ID == a.talk.Session() {
			continue
		}
		title := s.Title
		if title == "" {
			title = s.Prompt
		}
		if title == "" {
			continue
		}
		items = append(items, pick{value: s.ID, text: strings.Join(strings.Fields(title), " "), detail: ago(time.Since(s.Modified))})
	}
	a.pop(&picker{title: "Go on with which session?", items: items, choose: func(p pick) {
		a.closeOwn()
		a.open(Opening{Resume: p.value})
	}})
}

// rewind goes back to an earlier message: the conversation goes on before it, and
// its text is there to be changed.
func (a *app) rewind() {
	if a.talk == nil {
		return
	}
	past := a.talk.Past(a.ctx)
	var items []pick
	before := ""
	texts := map[string]string{}
	for _, e := range past {
		text := textOf(e.Message.Content)
		if e.Message.Role == model.User && text != "" && !strings.HasPrefix(text, "<") {
			items = append([]pick{{value: before, text: strings.Join(strings.Fields(text), " "), detail: ago(time.Since(e.Time))}}, items...)
			texts[before] = text
		}
		before = e.UUID
	}
	if len(items) == 0 {
		a.hint = "there is no message to go back to"
		return
	}
	id := a.talk.Session()
	a.pop(&picker{title: "Go back to before which message? (files stay as they are: haft rewind brings them back)", items: items, choose: func(p pick) {
		a.closeOwn()
		a.write.Set(texts[p.value])
		if p.value == "" {
			a.open(Opening{})
			return
		}
		a.open(Opening{Resume: id, At: p.value})
	}})
}

// listTasks shows what runs in the background.
func (a *app) listTasks() {
	var items []pick
	for _, t := range a.tasks {
		items = append(items, pick{value: t.ID, text: t.ID + "  " + t.Description, detail: fmt.Sprintf("%s, %s", t.Type, seconds(time.Since(t.Started)))})
	}
	if len(items) == 0 {
		a.hint = "nothing runs in the background"
		return
	}
	a.pop(&picker{title: "In the background", items: items, acts: "stops it",
		choose: func(p pick) {
			a.closeOwn()
			a.show.add(&note{text: a.tasks[p.value].OutputFile, quiet: true})
		},
		act: func(p pick) {
			a.closeOwn()
			if err := a.talk.StopTask(a.ctx, p.value); err != nil {
				a.note(err.Error())
			}
		}})
}

// ago is a time in the past for people.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
