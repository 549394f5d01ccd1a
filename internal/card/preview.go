package card

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strings"

	"github.com/haftdev/haft/internal/ask"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/tool"
)

// A Preview is what a call would do, for the person who is asked about it: all of
// it, and exactly as it is.
type Preview struct {
	Card
	// Text is what would run, every character of it visible.
	Text string
	// Path is the file that it is about, as the call names it; "" for none.
	Path string
	// Hunks are what would change in it, as far as that is known before.
	Hunks []patch.Hunk
	// Destructive calls lose something that cannot be had back.
	Destructive bool
}

// callInput has the fields of inputs that people are shown by themselves.
type callInput struct {
	Command    string `json:"command"`
	File       string `json:"file_path"`
	Notebook   string `json:"notebook_path"`
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
	Edits      []struct {
		Old        string `json:"old_string"`
		New        string `json:"new_string"`
		ReplaceAll bool   `json:"replace_all"`
	} `json:"edits"`
	Content *string `json:"content"`
	URL     string  `json:"url"`
}

// PreviewOf returns what a call would do. It reads the file that the call is
// about, to show the change.
func PreviewOf(c tool.Case) Preview {
	p := Preview{Card: Of(c.Call.Tools, c.Call.UseID, c.Call.Tool, c.Call.Input)}
	if c.Tool != nil {
		p.Title = line(c.Tool.UserName())
		p.Destructive = c.Tool.MarksOf(c.Call).Destructive
	}
	var in callInput
	if json.Unmarshal(c.Call.Input, &in) != nil {
		p.Text = visible(string(c.Call.Input))
		return p
	}
	p.Path = in.File + in.Notebook
	switch c.Call.Tool { // of a tool with the same fields and others, all of them are shown
	case "Bash":
		p.Text = visible(in.Command)
		p.Destructive = p.Destructive || loses.MatchString(in.Command)
	case "Edit", "MultiEdit", "Write":
		p.Hunks = in.hunks()
	}
	if p.Text == "" && p.Hunks == nil {
		p.Text = indented(told(c.Call))
	}
	return p
}

// told is the input without what the harness itself adds to that of a tool of its
// own. A server's tool may have any names.
func told(c *tool.Call) json.RawMessage {
	var fields map[string]json.RawMessage
	if strings.HasPrefix(c.Tool, "mcp__") || json.Unmarshal(c.Input, &fields) != nil {
		return c.Input
	}
	n := len(fields)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return strings.HasPrefix(name, "_") })
	raw, err := json.Marshal(fields)
	if err != nil || len(fields) == n {
		return c.Input // in its own order
	}
	return raw
}

// hunks is the change that an edit would make, as far as it can be seen without
// making it.
func (in *callInput) hunks() []patch.Hunk {
	const most = 4 << 20
	info, err := os.Stat(in.File)
	var before []byte
	if err == nil && info.Mode().IsRegular() && info.Size() <= most {
		before, _ = os.ReadFile(in.File) // one that cannot be read is shown as a new one
	}
	if in.Content != nil {
		return patch.Diff(before, []byte(*in.Content), 3)
	}
	after := replace(before, in.Old, in.New, in.ReplaceAll)
	for _, e := range in.Edits {
		after = replace(after, e.Old, e.New, e.ReplaceAll)
	}
	return patch.Diff(before, after, 3)
}

func replace(text []byte, before, after string, all bool) []byte {
	n := 1
	if all {
		n = -1
	}
	if before == "" {
		return append([]byte(after), text...)
	}
	return bytes.Replace(text, []byte(before), []byte(after), n)
}

// indented is an input for people.
func indented(input json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, input, "", "  ") != nil {
		return visible(string(input))
	}
	return visible(b.String())
}

// visible makes a text of several lines visible.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = ask.Visible(l)
	}
	return strings.Join(lines, "\n")
}

// loses finds commands that look as if something were lost for good by them. It
// asks for more care and decides nothing: the rules do.
var loses = regexp.MustCompile(`(?i)(^|[;&|(\s` + "`" + `/])(rm|rmdir|unlink|shred|dd|mkfs[.\w]*|wipefs|truncate|fdisk|parted)\s` +
	`|git\s+(\S+\s+)*(push\s.*(-f\b|--force|\+\w|--delete|--mirror)|reset\s+--hard|clean\s|checkout\s+(--|\.)|restore\s|branch\s+-D|stash\s+(drop|clear)|filter-branch)` +
	`|(drop|truncate)\s+(table|database|schema)|delete\s+from|(kubectl|helm|docker|aws|gcloud|az)\s.*\b(delete|destroy|prune|rm|terminate\S*)\b|(terraform|pulumi)\s+destroy` +
	`|find\s.*-delete|chmod\s+-R|chown\s+-R|>\s*/dev/(sd|nvme|disk)|mv\s.*\s/dev/null|(shutdown|reboot|halt|poweroff|mkswap)\b|killall|pkill`)
