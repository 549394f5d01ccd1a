package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// mcp lists the MCP servers; one is chosen to look at it and to connect, switch or log in.
func (a *app) mcp(args string) {
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

func (a *app) stateText(s mcp.Status) string {
	if s.State == mcp.NeedsAuth {
		return a.t("needs a login")
	}
	if s.Unapproved {
		return a.t("not approved")
	}
	return answers.State(a.lang, string(s.State))
}

// server offers what can be done with a server.
func (a *app) server(s mcp.Status) {
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

// serverText is all that is known of a server.
func (a *app) serverText(s mcp.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", s.Name, a.stateText(s), s.Type)
	if s.Info != nil {
		fmt.Fprintf(&b, "%s\n", a.t("%s %s, protocol %s", cmp.Or(s.Info.Title, s.Info.Name), s.Info.Version, s.Protocol))
	}
	for _, l := range []struct {
		title lang.Text
		text  string
	}{
		{"From", s.Source}, {"Error", s.Error}, {"Instructions", s.Instructions}, {"Steps", strings.Join(s.Steps, "\n")}, {"Standard error", strings.Join(s.Stderr, "\n")},
	} {
		if l.text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", a.t(l.title), l.text)
		}
	}
	fmt.Fprintf(&b, "\n%s:\n", a.lang.Count(len(s.Tools), "tool"))
	for _, t := range s.Tools {
		fmt.Fprintf(&b, "  %s\n", cmp.Or(t.Offered, a.t("%s (not offered: %s)", t.Name, t.Disabled)))
	}
	return b.String()
}

// loginTo logs in to a server in the browser, and connects to it then.
func (a *app) loginTo(server string) {
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
