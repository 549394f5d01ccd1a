package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// learn asks a new session for what a host needs to know at once.
func (p *peer) learn(ctx context.Context, s *session) error {
	res := s.wire.InitializeResult()
	known := catalogue{protocol: res.ProtocolVersion, caps: res.Capabilities}
	known.instructions, _ = clean(res.Instructions)
	if res.ServerInfo != nil {
		known.info = &Info{Name: res.ServerInfo.Name, Title: res.ServerInfo.Title, Version: res.ServerInfo.Version}
	}
	entries, err := s.listTools(ctx)
	if err != nil {
		p.step("tools/list: %v", err)
		return fmt.Errorf("could not list the tools: %w", err)
	}
	known.offers, known.left = p.offer(entries)
	p.mu.Lock()
	known.compare(p.known.offers)
	known.once, known.prompts = p.known.once, p.known.prompts
	p.known = known
	p.mu.Unlock()
	setTools(p.host.cache, p.cfg, known, entries)
	if known.caps == nil || known.caps.Prompts != nil {
		p.stale(stalePrompts)
	}
	return nil
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

// offer makes offers of the entries of a tool list. An entry that cannot be
// offered costs the others nothing.
func (p *peer) offer(entries []json.RawMessage) (offers []*offer, left []ToolStatus) {
	var names []string
	taken := make(map[string]bool, len(entries))
	for _, entry := range entries {
		o, err := p.newOffer(entry)
		if err == nil && taken[o.Name] {
			err = errors.New("the server lists another tool with this name")
		}
		if err != nil {
			name, _ := clean(o.Name)
			left = append(left, ToolStatus{Name: name, Disabled: err.Error()})
			continue
		}
		names, taken[o.Name] = append(names, o.Name), true
		offers = append(offers, o)
	}
	slices.SortFunc(offers, func(a, b *offer) int { return strings.Compare(a.Name, b.Name) })
	offered := offeredNames(p.key, names)
	for _, o := range offers {
		o.name = offered[o.Name]
	}
	slices.SortStableFunc(left, func(a, b ToolStatus) int { return cmp.Compare(a.Name, b.Name) })
	return offers, left
}

func (p *peer) newOffer(entry json.RawMessage) (*offer, error) {
	t, err := gate.ReadTool(entry)
	o := &offer{Tool: t, digest: meaning(entry)}
	if err != nil {
		return o, err
	}
	if !p.wants(t.Name) {
		return o, errors.New(Excluded)
	}
	portable, names, err := schema.Portable(t.InputSchema)
	if err != nil {
		return o, fmt.Errorf("inputSchema: %w", err)
	}
	o.names = names
	if o.input, err = schema.Parse(portable); err != nil {
		return o, err
	}
	if len(t.OutputSchema) > 0 && string(t.OutputSchema) != "null" {
		o.output, _ = schema.Parse(t.OutputSchema) // one that is broken describes nothing
	}
	o.description, o.hidden = clean(t.Description)
	if o.description = strings.TrimSpace(o.description); o.description == "" {
		o.description = "The tool " + normal(t.Name) + " of the MCP server " + normal(p.name) + ", which does not describe it."
	}
	o.description = shorten(o.description, maxDescription)
	_, more := clean(t.Name)
	o.hidden = append(o.hidden, more...)
	return o, nil
}

// meaning is the hash of what a JSON text says, however it is spelled: a copy that was
// kept has other spaces and escapes than what the server sent.
func meaning(text json.RawMessage) string {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) == nil {
		if plain, err := json.Marshal(value); err == nil {
			text = plain
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (p *peer) wants(name string) bool {
	if slices.Contains(p.cfg.Exclude, name) {
		return false
	}
	return len(p.cfg.Include) == 0 || slices.Contains(p.cfg.Include, name)
}
