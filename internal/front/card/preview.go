package card

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// A Preview is what a call would do, for the user who is asked about it: all of
// it, and exactly as it is.
type Preview struct {
	Card
	// Text is what would run, every character of it visible.
	Text string
	// Files are what would change.
	Files []FileDiff
	// Summary are lines about the whole change of a call that ran already: how much
	// it is, and what is not shown file by file.
	Summary []string
	// Note is what else there is to know about the change, such as why it cannot be
	// shown; "" for nothing.
	Note string
	// Destructive calls lose something that cannot be restored; Restorable ones would, but
	// for a rewind.
	Destructive, Restorable bool
}

// PreviewOf returns what a call would do, as its tool and the pipeline say, in the words of a
// language; nil is English.
func PreviewOf(c tool.Case, words *lang.Catalogue) Preview {
	p := Preview{Card: Of(c.Call.Tools, c.Call.UseID, c.Call.Tool, c.Call.Input)}
	if c.Tool != nil {
		p.Title = line(c.Tool.UserName())
		p.Path = PathOf(c.Tool, c.Call)
		p.Destructive = c.Tool.MarksOf(c.Call).Destructive
	}
	if c.Tool != nil && c.Tool.Command != nil {
		command := c.Tool.Command(c.Call)
		p.Text = visible.Blanks(visible.Text(command))
		p.Destructive = p.Destructive || loses.MatchString(command)
	}
	if p.Destructive && c.Restorable {
		p.Destructive, p.Restorable = false, true
	}
	switch {
	case c.Unclear != nil:
		p.Note = words.T("The changes cannot be shown: %s", line(c.Unclear.Error()))
	case c.Preview != nil && len(c.Preview.Files) == 0:
		p.Note = words.T("It would change nothing.")
	case c.Preview != nil:
		p.Files, p.Summary = Changes(c.Preview, words)
	}
	if p.Text == "" && p.Files == nil {
		p.Text = indented(told(c.Call))
	}
	return p
}

// Loss says what becomes of the files that a call deletes or replaces; "" for a call that
// does not look as if it did.
func (p *Preview) Loss(words *lang.Catalogue) string {
	switch {
	case p.Destructive:
		return words.T("This may destroy data permanently.")
	case p.Restorable:
		return words.T("/rewind can restore these files.")
	}
	return ""
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

// indented is an input for people.
func indented(input json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, input, "", "  ") != nil {
		return visible.Text(string(input))
	}
	return visible.Text(b.String())
}

// loses finds commands that look as if something were lost for good by them. It
// asks for more care and decides nothing: the rules do.
var loses = lazyregexp.New(`(?i)(^|[;&|(\s` + "`" + `/])(rm|rmdir|unlink|shred|dd|mkfs[.\w]*|wipefs|truncate|fdisk|parted)\s` +
	`|git\s+(\S+\s+)*(push\s.*(-f\b|--force|\+\w|--delete|--mirror)|reset\s+--hard|clean\s|checkout\s+(--|\.)|restore\s|branch\s+-D|stash\s+(drop|clear)|filter-branch)` +
	`|(drop|truncate)\s+(table|database|schema)|delete\s+from|(kubectl|helm|docker|aws|gcloud|az)\s.*\b(delete|destroy|prune|rm|terminate\S*)\b|(terraform|pulumi)\s+destroy` +
	`|find\s.*-delete|chmod\s+-R|chown\s+-R|>\s*/dev/(sd|nvme|disk)|mv\s.*\s/dev/null|(shutdown|reboot|halt|poweroff|mkswap)\b|killall|pkill`)
