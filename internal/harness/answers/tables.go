package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/session"
)

// patience is how long a command that someone typed may take.
const patience = 30 * time.Second

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

// oneLine is what a row has room for, with nothing in it that a terminal obeys.
func oneLine(s string) string {
	s = visible.Indented(strings.Join(strings.Fields(s), " "))
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
