package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// A catalogue is what is known about a server. It outlives connections.
type catalogue struct {
	once         bool // the server has been connected
	info         *Info
	protocol     string
	instructions string
	caps         *sdk.ServerCapabilities
	offers       []*offer     // by name
	left         []ToolStatus // tools that are not offered, and why
	prompts      []Prompt
}

// An offer is a tool that is offered to the model.
type offer struct {
	gate.Tool
	name          string // that the model calls
	description   string
	input, output *schema.Schema
	names         schema.Names // of its properties, where the model knows them under others
	digest        string
	changed       bool // since the server was connected by an earlier host, or first by this one
	hidden        []string
}

func (o *offer) status() ToolStatus {
	name, _ := clean(o.Name)
	s := ToolStatus{Name: name, Offered: o.name, Digest: o.digest, Changed: o.changed, Hidden: strings.Join(o.hidden, " "), Schema: o.InputSchema}
	if a := o.Annotations; a != nil {
		s.Annotations = &Annotations{Title: a.Title, ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
	}
	return s
}

func (o *offer) title() string {
	title := o.Title
	if title == "" && o.Annotations != nil {
		title = o.Annotations.Title
	}
	if title == "" {
		title = o.Name
	}
	title, _ = clean(title)
	return shorten(strings.Join(strings.Fields(title), " "), 100)
}

// marks believes a server's hints if the server is trusted; a hint that asks for
// more care is always believed.
func (o *offer) marks(trusted bool) tool.Marks {
	a := o.Annotations
	if a == nil {
		return tool.Marks{}
	}
	m := tool.Marks{Destructive: a.Destructive != nil && *a.Destructive && !a.ReadOnly}
	if !trusted {
		return m
	}
	switch {
	case a.ReadOnly:
		m.ReadOnly, m.ConcurrencySafe, m.Effect = true, true, tool.Idempotent
	case a.Idempotent:
		m.Effect = tool.Idempotent
	}
	return m
}

// repeatable reports whether sending the call twice does no harm, by the
// server's own word.
func (o *offer) repeatable() bool {
	return o.Annotations != nil && (o.Annotations.ReadOnly || o.Annotations.Idempotent)
}

// maxServerResult is the most that a server may ask for.
const maxServerResult = 500_000

// maxResult is what the entry says, for the tool or for all, else what the server
// asks for, else the host's.
func (o *offer) maxResult(p *peer) int {
	if configured := cmp.Or(p.cfg.ToolMaxResult[o.Name], p.cfg.MaxResult); configured > 0 {
		return configured
	}
	var asked int
	if json.Unmarshal(o.Meta["anthropic/maxResultSizeChars"], &asked) == nil && asked > 0 {
		return min(asked, maxServerResult)
	}
	return p.host.opts.MaxResult
}

func (o *offer) meta(p *peer) map[string]any {
	m := map[string]any{"server": p.name, "tool": o.Name, "digest": o.digest, "inputSchema": o.InputSchema}
	var flag bool
	if json.Unmarshal(o.Meta["anthropic/alwaysLoad"], &flag); flag || p.cfg.AlwaysLoad {
		m[tool.AlwaysLoad] = true
	}
	return m
}

// compare marks the tools that are not what they were before; they stay marked.
func (c *catalogue) compare(before []*offer) {
	known := make(map[string]*offer, len(before))
	for _, o := range before {
		known[o.Name] = o
	}
	for _, o := range c.offers {
		if old := known[o.Name]; old != nil {
			o.changed = old.changed || old.digest != o.digest
		}
	}
}

// maxPages bounds a list against a server whose pages never end.
const maxPages = 1000

// errUnchanged means that the list may be kept as it is.
var errUnchanged = errors.New("the list has not changed")
