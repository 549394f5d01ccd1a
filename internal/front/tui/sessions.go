package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Sessions are those that can be resumed.
type Sessions interface {
	// List returns those of this folder, or all, the newest first.
	List(all bool) ([]session.Info, error)
	// Look reads one session in full.
	Look(ctx context.Context, s session.Info) (harness.Overview, error)
}

// Kept are the sessions of this machine, as seen from a folder.
type Kept string

// List returns those of the folder, or all.
func (k Kept) List(all bool) ([]session.Info, error) {
	const most = 500
	o := session.ListOptions{Cwd: string(k), Limit: most}
	if all {
		o.Cwd = ""
	}
	return session.Open("").List(&o)
}

// Look reads one session in full.
func (k Kept) Look(ctx context.Context, s session.Info) (harness.Overview, error) {
	return harness.Look(ctx, s.Path)
}

// A sessionPicker is a list of sessions with the end of the one that is selected. What it
// says of each is read while it is on the screen.
type sessionPicker struct {
	picker
	app      *app
	ctx      context.Context
	all      bool // those of other folders too
	chosen   bool
	sessions map[string]session.Info
	known    map[string]*harness.Overview
	looking  bool
}

func (p *sessionPicker) list() error {
	list, err := p.app.opts.Sessions.List(p.all)
	if err != nil {
		return err
	}
	p.title, p.none = p.app.t("Which session in this folder should be resumed?"), "There are no earlier sessions in this folder; tab lists those in all folders."
	if p.all {
		p.title, p.none = p.app.t("Which session should be resumed?"), "There are no earlier sessions."
	}
	p.items, p.sessions = nil, map[string]session.Info{}
	for _, s := range list {
		title := strings.Join(strings.Fields(cmp.Or(s.Title, s.Prompt)), " ")
		if s.Prompt == "" || p.app.talk != nil && s.ID == p.app.talk.State.Session() {
			continue
		}
		p.sessions[s.ID] = s
		p.items = append(p.items, pick{value: s.ID, text: title, also: strings.Join([]string{s.ID, s.Prompt, s.Branch, s.Tag, s.Cwd}, " ")})
	}
	return nil
}

func (p *sessionPicker) lines(v view, height int) []string {
	for i := range p.items {
		p.items[i].detail = p.detail(p.items[i].value)
	}
	end := p.preview(v, min(max(height/3-1, 0), 8))
	p.more = []lang.Text{"tab: all folders"}
	if p.all {
		p.more = []lang.Text{"tab: this folder"}
	}
	lines := p.picker.lines(v, height-len(end))
	p.look()
	help := lines[len(lines)-1]
	return append(append(lines[:len(lines)-1], end...), help)
}

// detail is what is known of a session: its age, branch and cost.
func (p *sessionPicker) detail(id string) string {
	s := p.sessions[id]
	parts := []string{p.app.ago(time.Since(s.Modified))}
	if o := p.known[id]; o != nil {
		switch {
		case o.Unpriced && o.Cost == 0:
		case o.Unpriced:
			parts = append(parts, p.app.t("over $%.2f", o.Cost))
		default:
			parts = append(parts, fmt.Sprintf("$%.2f", o.Cost))
		}
		parts = append(parts, p.app.lang.Count(len(o.Turns), "prompt"))
	}
	if s.Branch != "" {
		parts = append(parts, s.Branch)
	}
	if p.all {
		parts = append(parts, s.Cwd)
	}
	return strings.Join(parts, " · ")
}

// preview is the end of the selected session, at most n lines.
func (p *sessionPicker) preview(v view, n int) []string {
	selected, ok := p.selected()
	if !ok || n < 2 {
		return nil
	}
	var lines []string
	if o := p.known[selected.value]; o != nil {
		for _, e := range o.Last {
			for _, b := range e.Message.Content {
				mark, text := "  ", b.Text
				if e.Message.Role == model.User {
					mark, text = "› ", harness.Typed([]model.Block{b})
				}
				if b.Type != model.Text || strings.TrimSpace(text) == "" {
					continue
				}
				for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
					if i > 0 {
						mark = "  "
					}
					lines = append(lines, v.paint.Dim.Of("    │ "+cut(mark+visible.Cells(l), v.width-8)))
				}
			}
		}
	}
	return lines[max(0, len(lines)-n):]
}

// look reads the session that is selected, or the first on the screen that was not read, one
// at a time.
func (p *sessionPicker) look() {
	id, ok := p.unknown()
	if p.looking || !ok {
		return
	}
	p.looking = true
	go func() {
		o, err := p.app.opts.Sessions.Look(p.ctx, p.sessions[id])
		if p.ctx.Err() != nil {
			return
		}
		p.app.later(func() {
			p.looking, p.app.dirty = false, true
			if p.known[id] = &o; err != nil {
				p.known[id] = &harness.Overview{Unpriced: true} // one that cannot be read can still be tried
			}
		})
	}()
}

func (p *sessionPicker) unknown() (id string, ok bool) {
	if s, ok := p.selected(); ok && p.known[s.value] == nil {
		return s.value, true
	}
	for _, s := range p.onScreen {
		if p.known[s.value] == nil {
			return s.value, true
		}
	}
	return "", false
}

func (p *sessionPicker) key(k key.Key) bool {
	if k != (key.Key{Name: key.Tab}) {
		return p.picker.key(k)
	}
	p.all, p.at = !p.all, 0
	if err := p.list(); err != nil {
		p.app.hint = p.app.lang.Error(err)
	}
	return true
}
