package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/haftdev/haft/harness"
	"io"
	"os"
	"strings"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/workspace/guard"
)

// verdictInfo is a decision as programs read it.
type verdictInfo struct {
	Behavior    string          `json:"behavior"`
	ReadOnly    bool            `json:"readonly"`
	Reason      string          `json:"reason"`
	Rule        string          `json:"rule,omitempty"`
	Origin      string          `json:"origin,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
}

func newVerdictInfo(d permission.Decision) verdictInfo {
	v := verdictInfo{Behavior: d.Behavior.String(), ReadOnly: d.ReadOnly, Reason: d.Reason, Rule: d.Rule, Origin: d.Origin, Input: d.Input}
	for _, s := range d.Suggestions {
		v.Suggestions = append(v.Suggestions, s.Rule)
	}
	return v
}

// explain shows the verdict on one call by the settings in force here.
func (f *permissionsFlags) explain(name, input string) error {
	if !json.Valid([]byte(input)) {
		return usageError{fmt.Errorf("the input is not JSON: %s", input)}
	}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec})
	if err != nil {
		return err
	}
	defer w.Close()
	w.Warn(f.Err)
	p := w.Engine.Policy()
	d := decide(p, w.Set(nil), name, json.RawMessage(input))
	if f.json {
		return writeJSON(f.Out, newVerdictInfo(d))
	}
	fmt.Fprintf(f.Out, "%s: %s\n", d.Behavior, d.Reason)
	if d.Rule != "" {
		fmt.Fprintf(f.Out, "rule: %s in %s\n", d.Rule, d.Origin)
	}
	if d.Input != nil {
		fmt.Fprintf(f.Out, "runs as: %s\n", d.Input)
	}
	settled := "a rule that would settle it"
	if len(d.Suggestions) > 1 {
		settled = "one of the rules that would settle it together"
	}
	for _, s := range d.Suggestions {
		fmt.Fprintf(f.Out, "%s: %s\n", settled, s.Rule)
	}
	for _, problem := range p.Problems() {
		fmt.Fprintln(f.Err, problem)
	}
	return nil
}

// decide asks the policy about a call. A tool that is not there is judged by its
// name alone.
func decide(p *permission.Policy, set *tool.Set, name string, input json.RawMessage) permission.Decision {
	c := tool.Case{Call: &tool.Call{Tool: name, Input: input}}
	if t := set.Lookup(name); t != nil {
		c.Tool, c.Call.Tool, c.Call.Tools, c.Call.Session = t, t.Name, set, set.Session()
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

// explainBatch answers one question a line. A question carries all that it is
// judged by: the settings of this machine do not count.
func (f *permissionsFlags) explainBatch() error {
	in := bufio.NewReader(f.In)
	out := bufio.NewWriter(f.Out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	set := tool.NewSet(nil, builtin.World{}.Tools(), nil, nil)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			if err := enc.Encode(answer(set, line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return fmt.Errorf("read the questions: %w", err)
		}
	}
}

// answer judges one line. What cannot be judged is asked.
func answer(set *tool.Set, line string) verdictInfo {
	var q question
	if err := json.Unmarshal([]byte(line), &q); err != nil {
		return verdictInfo{Behavior: tool.Ask.String(), Reason: "the question cannot be read: " + err.Error()}
	}
	p, err := q.policy()
	if err != nil {
		return verdictInfo{Behavior: tool.Ask.String(), Reason: err.Error()}
	}
	return newVerdictInfo(decide(p, set, q.Tool, q.Input))
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
