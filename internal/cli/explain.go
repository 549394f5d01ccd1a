package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// verdictInfo is a decision as programs read it.
type verdictInfo struct {
	Behavior    string          `json:"behavior"`
	ReadOnly    bool            `json:"readonly"`
	Reason      string          `json:"reason"`
	Confinement string          `json:"confinement,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	Origin      string          `json:"origin,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	// Notes are what else matters: the tool's own objections to the call, and hooks that
	// were not run.
	Notes []string `json:"notes,omitempty"`
}

func newVerdictInfo(d permission.Decision) verdictInfo {
	v := verdictInfo{Behavior: d.Behavior.String(), ReadOnly: d.ReadOnly, Reason: d.Reason, Confinement: string(d.Confinement), Rule: d.Rule, Origin: d.Origin, Input: d.Input}
	if d.Reason == "" {
		v.Reason = d.Message // of a tool that refuses by itself
	}
	for _, s := range d.Suggestions {
		v.Suggestions = append(v.Suggestions, s.Rule)
	}
	return v
}

// dryRun runs a call through the pipeline up to its verdict. MCP servers are not started
// for this, so their tools are judged by name.
func dryRun(ctx context.Context, w *harness.World, name, typed string) (verdictInfo, error) {
	pool := w.Pool(nil)
	set := pool.Set(everything())
	set = pool.SetForManualCall(name, set.Reveal(set.Session().Tools...))
	input, err := given(set, name, typed)
	if err != nil {
		return verdictInfo{}, err
	}
	e, err := w.Explain(ctx, set, name, input)
	if err != nil {
		return verdictInfo{}, usageError{errors.New(strings.TrimSpace(untagged.Replace(err.Error())))}
	}
	v := newVerdictInfo(e.Decision)
	v.Notes = e.Notes
	return v, nil
}

// everything is a session that can do all that any session can.
func everything() *tool.Session {
	return &tool.Session{Interactive: true, Flags: map[string]bool{bash.BackgroundFlag: true, websearch.Flag: true, mcpresource.Flag: true}}
}

// write shows the verdict to a user.
func (v verdictInfo) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", v.Behavior, visible.Indented(v.Reason))
	if v.Rule != "" {
		fmt.Fprintf(w, "rule: %s in %s\n", visible.Indented(v.Rule), v.Origin)
	}
	if v.Confinement != "" {
		fmt.Fprintf(w, "confinement: %s\n", v.Confinement)
	}
	if v.Input != nil {
		fmt.Fprintf(w, "runs as: %s\n", visible.Indented(string(v.Input)))
	}
	settled := "a rule that would allow it"
	if len(v.Suggestions) > 1 {
		settled = "one of several rules that together would allow it"
	}
	for _, rule := range v.Suggestions {
		fmt.Fprintf(w, "%s: %s\n", settled, visible.Indented(rule))
	}
	for _, note := range v.Notes {
		fmt.Fprintf(w, "note: %s\n", visible.Indented(note))
	}
}

// decide asks only the policy about a call. A tool that does not exist is judged by its
// name.
func decide(p *permission.Policy, set *tool.Set, dir, name string, input json.RawMessage) permission.Decision {
	c := tool.Case{Call: &tool.Call{Tool: name, Input: input, Dir: dir}}
	if t := set.Lookup(name); t != nil {
		c.Tool, c.Call.Tool, c.Call.Tools, c.Call.Session = t, t.Name, set, set.Session()
		if fixed, _, err := set.View(t).Check(input); err == nil { // what is misshapen is judged by what can be read of it
			c.Call.Input = fixed
		}
	}
	return p.Decide(c)
}

// A question is one line of explain --batch.
type question struct {
	Tool    string              `json:"tool"`
	Input   json.RawMessage     `json:"input"`
	Mode    string              `json:"mode"`
	Rules   map[string][]string `json:"rules"`
	Source  map[string]string   `json:"source"`
	Cwd     string              `json:"cwd"`
	Home    string              `json:"home"`
	Trusted *bool               `json:"trusted"`
}

// answer judges one line. What cannot be judged is asked.
func answer(set *tool.Set, line string) verdictInfo {
	var q question
	if err := json.Unmarshal([]byte(line), &q); err != nil {
		return verdictInfo{Behavior: tool.Ask.String(), Reason: "could not read the question: " + err.Error()}
	}
	p, err := q.policy()
	if err != nil {
		return verdictInfo{Behavior: tool.Ask.String(), Reason: err.Error()}
	}
	return newVerdictInfo(decide(p, set, q.Cwd, q.Tool, q.Input))
}

func (q *question) policy() (*permission.Policy, error) {
	mode, err := permission.ParseMode(q.Mode)
	if err != nil {
		return nil, err
	}
	wd, _ := os.Getwd()
	userHome, _ := os.UserHomeDir()
	cwd, home := cmp.Or(q.Cwd, wd), cmp.Or(q.Home, userHome)
	g, err := guard.New(&guard.Options{Roots: []string{cwd}, Home: home, FS: permission.Imagined(cwd, home)})
	if err != nil {
		return nil, err
	}
	opts := permission.Options{Mode: mode, Trusted: q.Trusted == nil || *q.Trusted, Guard: g, Home: home}
	for _, b := range []tool.Behavior{tool.Allow, tool.Ask, tool.Deny} {
		source, err := settings.ParseSource(cmp.Or(q.Source[b.String()], settings.Project.String()))
		if err != nil {
			return nil, err
		}
		for _, text := range q.Rules[b.String()] {
			opts.Rules = append(opts.Rules, permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: source}})
		}
	}
	return permission.NewPolicy(opts), nil
}
