package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/card"
	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A call is one that the client knows of and that has not returned.
type call struct {
	id, agent string
	tool      *tool.Tool // nil if there is none of its name
	terminal  bool       // its output is shown in a terminal
	file      string     // that it changes; "" for none, and for several
}

// silent are tools whose calls are not shown: the plan says what they did.
var silent = map[string]bool{"TodoWrite": true, "TaskCreate": true, "TaskUpdate": true, "TaskGet": true, "TaskList": true}

// kinds are those of haft's own tools that their contract does not tell.
var kinds = map[string]string{
	"Grep": "search", "Glob": "search", "ToolSearch": "search", "WebSearch": "search",
	"Agent": "think", "Skill": "think", "SlashCommand": "think", "TodoWrite": "think",
	"EnterPlanMode": "switch_mode", "ExitPlanMode": "switch_mode", "REPL": "execute",
}

// kindOf sorts a call as editors do: by what its tool says about it.
func kindOf(t *tool.Tool, c *tool.Call) string {
	if t == nil {
		return "other"
	}
	if kind, ok := kinds[t.Name]; ok && t.Source == "" {
		return kind
	}
	paths := pathsOf(t, c)
	switch {
	case t.Command != nil:
		return "execute"
	case t.Address != nil:
		return "fetch"
	case len(paths.Writes) > 0:
		return "edit"
	case len(paths.Reads) > 0:
		return "read"
	}
	return "other"
}

// pathsOf are what a call touches; a tool that fails at telling it touches nothing.
func pathsOf(t *tool.Tool, c *tool.Call) (p tool.Paths) {
	defer func() {
		if recover() != nil {
			p = tool.Paths{}
		}
	}()
	return t.PathsOf(c)
}

// commandOf is what a call would run; "" if it runs nothing, or cannot tell.
func commandOf(t *tool.Tool, c *tool.Call) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	if t == nil || t.Command == nil {
		return ""
	}
	return t.Command(c)
}

// describe is what is known of a call before it runs.
func (s *session) describe(set *tool.Set, t *tool.Tool, c *tool.Call) callUpdate {
	u := callUpdate{ID: c.UseID, Name: c.Tool, Kind: kindOf(t, c), RawInput: rawInput(c.Input)}
	u.Title = card.Of(set, c.UseID, c.Tool, c.Input).String()
	if command := commandOf(t, c); command != "" {
		u.Title = code(command)
	}
	if t != nil {
		for _, path := range pathsOf(t, c).All() {
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.talk.World.Shell.Dir(c.Agent), path)
			}
			u.Locations = append(u.Locations, location{Path: path})
		}
	}
	if parent, ok := s.parents.Load(c.Agent); ok {
		u.Meta = map[string]any{"parentToolCallId": parent}
	}
	return u
}

// rawInput is an input as JSON, whatever a model wrote.
func rawInput(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return nil
	}
	if json.Valid(input) {
		return input
	}
	raw, err := json.Marshal(string(input))
	if err != nil {
		return nil
	}
	return raw
}

// code is a text in one line of Markdown, as code.
func code(text string) string {
	const most = 200
	text = visible.Text(strings.Join(strings.Fields(text), " "))
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	ticks := strings.Repeat("`", longest(text, '`')+1)
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

// fence is a text as it is, in Markdown.
func fence(language, text string) string {
	ticks := strings.Repeat("`", max(3, longest(text, '`')+1))
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

// fenced is output that is not complete yet; "" if there is none.
func fenced(language, output string) string {
	if strings.TrimSpace(output) == "" {
		return ""
	}
	return fence(language, visible.Text(output))
}

// longest is the longest run of a character in a text.
func longest(text string, c rune) (most int) {
	n := 0
	for _, r := range text {
		if n++; r != c {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// begin tells of a call that the model makes.
func (t *teller) begin(agent string, b model.Block) {
	tl := t.tools.Lookup(b.Name)
	if tl != nil && silent[tl.Name] && tl.Source == "" {
		return
	}
	c := &call{id: b.ID, agent: agent, tool: tl}
	t.calls[b.ID] = c
	u := t.s.describe(t.tools, tl, &tool.Call{UseID: b.ID, Tool: b.Name, Input: b.Input, Agent: agent})
	u.Update, u.Status = updateCall, statusPending
	if u.Kind == "edit" && len(u.Locations) == 1 {
		c.file = u.Locations[0].Path
	}
	if c.terminal = u.Kind == "execute" && t.s.client.Meta.TerminalOutput && !t.replaying; c.terminal {
		u.Content = []any{terminalItem{"terminal", b.ID}}
		u.Meta = with(u.Meta, "terminal_info", map[string]any{"terminal_id": b.ID, "cwd": t.s.talk.World.Shell.Dir(agent)})
	}
	t.send(u)
}

func with(meta map[string]any, key string, value any) map[string]any {
	if meta == nil {
		meta = make(map[string]any)
	}
	meta[key] = value
	return meta
}

// Progress is told so often at most, and so much of it.
const (
	progressTime = 250 * time.Millisecond
	progressText = 8 << 10
)

// advanced tells how far a call is. A terminal gets all of the output in the end: what
// is known meanwhile is only its last lines.
func (t *teller) advanced(c *call, ev sched.Event) {
	if time.Since(t.progress[c.id]) < progressTime {
		return
	}
	text := ""
	switch p := ev.Progress.(type) {
	case tool.BashProgress:
		text = fenced("console", tail(p.Output))
	case tool.EvalProgress:
		text = fenced("", tail(p.Output))
	case tool.AgentProgress:
		text = visible.Text(p.Activity)
	case tool.MCPProgress:
		text = visible.Text(p.Message)
	case tool.WebSearchProgress:
		text = visible.Text(p.Query) + ": " + plural.Of(p.Results, "result")
	case tool.TextProgress:
		text = visible.Text(p.Text)
	}
	if text == "" {
		return
	}
	t.progress[c.id] = time.Now()
	t.send(callUpdate{Update: updateCallChange, ID: c.id, Status: statusInProgress, Content: []any{content(textOf(text))}})
}

// tail is the end of a text that is too long to be sent every time.
func tail(text string) string {
	if len(text) <= progressText {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-progressText:], "")
}

// returned tells how a call went.
func (t *teller) returned(out *sched.Outcome) {
	c := t.calls[out.UseID]
	delete(t.calls, out.UseID)
	delete(t.progress, out.UseID)
	shown := t.s.changed(out.UseID)
	if c == nil {
		return
	}
	u := callUpdate{Update: updateCallChange, ID: c.id, Status: statusCompleted, RawOutput: rawOutput(out)}
	if out.IsError() {
		u.Status = statusFailed
	}
	var diffs []any
	diffs, u.Locations = made(c.file, out, shown)
	text := card.Text(out)
	switch {
	case c.terminal && out.Ran():
		t.send(callUpdate{Update: updateCallChange, ID: c.id, Meta: map[string]any{
			"terminal_output": map[string]any{"terminal_id": c.id, "data": strings.ReplaceAll(visible.Text(text), "\n", "\r\n")},
		}})
		u.Content = append([]any{terminalItem{"terminal", c.id}}, diffs...)
		u.Meta = with(u.Meta, "terminal_exit", map[string]any{"terminal_id": c.id, "exit_code": exitCode(out), "signal": nil})
	case len(diffs) > 0 && !out.IsError() && c.tool != nil && c.tool.Command == nil:
		u.Content = diffs // the text only repeats them
	default:
		u.Content = append(shownBlocks(out, text, c.tool), diffs...)
	}
	t.send(u)
}

// shownBlocks is what came back, for people: output as it is, images, and what a
// sub-agent or a page says as Markdown.
func shownBlocks(out *sched.Outcome, text string, t *tool.Tool) (list []any) {
	if text = visible.Text(text); text != "" {
		language := ""
		if t != nil && t.Command != nil {
			language = "console"
		}
		if out.IsError() || t == nil || t.Name != "Agent" && t.Address == nil {
			text = fence(language, text)
		}
		list = append(list, content(textOf(text)))
	}
	for _, b := range out.Result.Content {
		if b.Type == tool.ImageBlock && len(b.Data) > 0 {
			list = append(list, content(map[string]string{"type": "image", "mimeType": b.MediaType, "data": base64.StdEncoding.EncodeToString(b.Data)}))
		}
	}
	return list
}

// rawOutput is the typed output of a call, if it is not large: its text is shown anyway.
func rawOutput(out *sched.Outcome) json.RawMessage {
	const most = 32 << 10
	if out.Result.Output == nil {
		return nil
	}
	raw, err := json.Marshal(out.Result.Output)
	if err != nil || len(raw) > most {
		return nil
	}
	return raw
}

// exitCode is that of a command; nil if it is not known.
func exitCode(out *sched.Outcome) any {
	raw := rawOutput(out)
	var o struct {
		ExitCode *int `json:"exitCode"`
	}
	if json.Unmarshal(raw, &o) != nil || o.ExitCode == nil {
		return nil
	}
	return *o.ExitCode
}

// changed is what a preview of a call showed, if it was asked about.
func (s *session) changed(useID string) *tool.Preview {
	if p, ok := s.previews.LoadAndDelete(useID); ok {
		return p.(*tool.Preview)
	}
	return nil
}

// made is what a call has changed: what the user was shown and has approved, and
// otherwise what its output says. Of a call that the user has denied it is what they
// denied.
func made(path string, out *sched.Outcome, asked *tool.Preview) ([]any, []location) {
	switch {
	case asked != nil && (!out.IsError() || out.Status == sched.Denied):
		return diffs(asked)
	case out.IsError(), out.Result.Output == nil, path == "":
		return nil, nil
	}
	raw, err := json.Marshal(out.Result.Output)
	if err != nil {
		return nil, nil
	}
	var o struct {
		Type    string       `json:"type"`
		Content string       `json:"content"`
		Before  *string      `json:"originalFile"`
		Cells   *string      `json:"original_file"`
		Hunks   []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return nil, nil
	}
	before := cmp.Or(o.Before, o.Cells)
	switch {
	case o.Type == "create":
		return []any{diff(path, nil, &o.Content, nil)}, []location{{Path: path, Line: 1}}
	case len(o.Hunks) > 0 && before != nil:
		old, now := places(o.Hunks)
		if after, err := patch.Apply([]byte(*before), o.Hunks); err == nil {
			old, now = *before, string(after)
		}
		return []any{diff(path, &old, &now, o.Hunks)}, []location{{Path: path, Line: firstLine(o.Hunks)}}
	}
	return nil, nil
}
