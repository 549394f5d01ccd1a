package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// A Host holds the servers of a session.
type Host struct {
	opts    Options
	cache   cache
	own     *shellrun.Host // the runner that the host made itself, or nil
	ownHTTP bool           // the HTTP transport is the host's own
	news    chan struct{}
	stop    chan struct{}
	told    sync.WaitGroup
	runs    sync.WaitGroup // supervisors, also of servers that were removed

	mu     sync.Mutex
	peers  any               // peers
	keys   map[string]string // of all servers that ever were: a name stays one server's
	roots  []string
	closed bool
}

// NewHost makes a Host. Nothing is started before Start.
func NewHost(opts *Options) *Host {
	h := &Host{peers: peers{}, keys: map[string]string{}, news: make(chan struct{}, 1), stop: make(chan struct{})}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	o.Name = cmp.Or(o.Name, "haft")
	o.Version = cmp.Or(o.Version, "dev")
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 28*time.Hour)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 1500*time.Millisecond)
	o.MaxMessage = cmp.Or(o.MaxMessage, 64<<20)
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP, h.ownHTTP = newTransport(), true
	}
	if o.Runner == nil {
		h.own = shellrun.NewHost(nil)
		o.Runner = h.own.Runner()
	}
	h.cache, h.roots = cache{o.CacheDir, o.Dir}, slices.Clone(o.Roots)
	h.told.Go(h.tell)
	return h
}

func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	return t
}

// Start adds servers and connects to them. It returns at once.
func (h *Host) Start(servers []Server) { h.Set(servers) }

// changed has OnChange called, soon and once for many changes.
func (h *Host) changed() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *Host) tell() {
	for {
		select {
		case <-h.stop:
			return
		case <-h.news:
			if h.opts.OnChange != nil {
				h.opts.OnChange()
			}
		}
	}
}

// Wait returns when no server is still connecting, or when ctx is cancelled.
func (h *Host) Wait(ctx context.Context) error {
	for _, p := range peersOf(h) {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// WaitFor is Wait for one server.
func (h *Host) WaitFor(ctx context.Context, server string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	return p.wait(ctx)
}

// WaitForTools is like Wait, but does not wait for servers whose tools are known from an
// earlier connection: these tools are offered at once, and the first call waits for the
// server.
func (h *Host) WaitForTools(ctx context.Context) error {
	for _, p := range peersOf(h) {
		p.recalled()
		p.mu.Lock()
		settled, known := p.settled, len(p.known.offers) > 0
		p.mu.Unlock()
		if known {
			continue
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends all servers and waits until they have ended.
func (h *Host) Close() error {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	for _, p := range peersOf(h) {
		p.cancel()
	}
	h.runs.Wait()
	close(h.stop)
	h.told.Wait()
	if idle, ok := h.opts.HTTP.(interface{ CloseIdleConnections() }); ok && h.ownHTTP {
		idle.CloseIdleConnections()
	}
	if h.own != nil {
		return h.own.Close()
	}
	return nil
}

// Status returns the state of all servers, sorted by name.
func (h *Host) Status() []Status {
	var all []Status
	for _, p := range peersOf(h) {
		all = append(all, p.status())
	}
	return all
}

// Tools returns the tools of all servers that are or have been connected, by
// server and name. Servers that are switched off have none.
func (h *Host) Tools() []tool.Tool {
	var all []tool.Tool
	for _, p := range peersOf(h) {
		p.mu.Lock()
		hidden := p.state == Disabled
		p.mu.Unlock()
		if !hidden {
			all = append(all, p.tools()...)
		}
	}
	return all
}

// Call calls a tool by its server's name for it. The call's input is the
// arguments; see [Output] for the result.
func (h *Host) Call(ctx context.Context, server, name string, c *tool.Call) (tool.Result, error) {
	p, err := peerOf(h, server)
	if err != nil {
		return tool.Result{}, tool.Errorf("%w", err)
	}
	o := p.offered(name)
	if o == nil { // its tools may not be known yet
		if _, err := p.acquire(ctx); err != nil {
			return tool.Result{}, forModel(ctx, err)
		}
		if o = p.offered(name); o == nil {
			return tool.Result{}, tool.Errorf("MCP server %s has no tool %s", server, name)
		}
	}
	return p.call(ctx, o, c)
}

// Receive handles a message that an in-process server sent unprompted.
func (h *Host) Receive(server string, message json.RawMessage) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s == nil {
		return p.absence(Failed)
	}
	if l, ok := s.link.(*sdkLink); ok {
		l.receive(message)
		return nil
	}
	return UnknownServer(server)
}

func (h *Host) approve(s Server) Verdict {
	if h.opts.Approve == nil {
		return Verdict{Allowed: true}
	}
	return h.opts.Approve(s)
}

// Prompts lists the prompts of all servers, by server and name.
func (h *Host) Prompts() []Prompt {
	all := []Prompt{}
	for _, p := range peersOf(h) {
		p.mu.Lock()
		if p.state != Disabled {
			all = append(all, p.known.prompts...)
		}
		p.mu.Unlock()
	}
	return all
}

// GetPrompt fills in the prompt with the given command name.
func (h *Host) GetPrompt(ctx context.Context, command string, args map[string]string) ([]PromptMessage, error) {
	all := h.Prompts()
	i := slices.IndexFunc(all, func(p Prompt) bool { return p.Command == command })
	if i < 0 {
		return nil, fmt.Errorf("there is no prompt %s", command)
	}
	for _, a := range all[i].Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return nil, fmt.Errorf("the prompt %s needs the argument %s", command, a.Name)
		}
	}
	return ask(ctx, h, all[i].Server, func(ctx context.Context, s *session) ([]PromptMessage, error) {
		res, err := s.wire.GetPrompt(ctx, &sdk.GetPromptParams{Name: all[i].Name, Arguments: args})
		if err != nil {
			return nil, err
		}
		raw, ok := s.gate.Redeem(res.Meta)
		if !ok {
			return nil, errors.New("the prompt was lost")
		}
		messages := []PromptMessage{}
		for m := range envelope.Elements(envelope.Field(raw, "messages")) {
			var message PromptMessage
			if err := json.Unmarshal(m, &message); err != nil {
				return nil, fmt.Errorf("could not read a message in the prompt: %w", err)
			}
			messages = append(messages, message)
		}
		return messages, nil
	})
}

// Complete returns possible values of an argument, and whether there are more.
func (h *Host) Complete(ctx context.Context, c Completion) (values []string, more bool, err error) {
	res, err := ask(ctx, h, c.Server, func(ctx context.Context, s *session) (*sdk.CompleteResult, error) {
		if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Completions == nil {
			return new(sdk.CompleteResult), nil
		}
		ref := &sdk.CompleteReference{Type: "ref/prompt", Name: c.Prompt}
		if c.Template != "" {
			ref = &sdk.CompleteReference{Type: "ref/resource", URI: c.Template}
		}
		params := &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: c.Argument, Value: c.Value}}
		if len(c.Others) > 0 {
			params.Context = &sdk.CompleteContext{Arguments: c.Others}
		}
		return s.wire.Complete(ctx, params)
	})
	if err != nil {
		return nil, false, err
	}
	return res.Completion.Values, res.Completion.HasMore, nil
}

// Resources lists the resources and templates of a server, or of all connected
// ones (""). A server that cannot be asked is an error only if it was named.
func (h *Host) Resources(ctx context.Context, server string) ([]Resource, error) {
	if server != "" {
		return ask(ctx, h, server, listResources)
	}
	all := []Resource{}
	for _, p := range peersOf(h) {
		p.mu.Lock()
		usable := p.session != nil && (p.known.caps == nil || p.known.caps.Resources != nil)
		p.mu.Unlock()
		if !usable {
			continue
		}
		if list, err := ask(ctx, h, p.name, listResources); err == nil {
			all = append(all, list...)
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return all, nil
}

// ReadResource reads a resource.
func (h *Host) ReadResource(ctx context.Context, server, uri string) ([]Contents, error) {
	return ask(ctx, h, server, func(ctx context.Context, s *session) ([]Contents, error) {
		res, err := s.wire.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		all := []Contents{}
		for _, c := range res.Contents {
			if c != nil {
				all = append(all, Contents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Blob})
			}
		}
		return all, nil
	})
}

// Mention splits @server:uri, as users write it, into its parts. It reports whether the host
// has such a server.
func (h *Host) Mention(text string) (server, uri string, ok bool) {
	text, at := strings.CutPrefix(text, "@")
	server, uri, colon := strings.Cut(text, ":")
	_, err := peerOf(h, server)
	return server, uri, at && colon && uri != "" && err == nil
}

// SetRoots changes the directories that servers are told about.
func (h *Host) SetRoots(dirs []string) {
	h.mu.Lock()
	old := h.roots
	h.roots = slices.Clone(dirs)
	h.mu.Unlock()
	for _, p := range peersOf(h) {
		p.mu.Lock()
		s := p.session
		p.mu.Unlock()
		if s != nil {
			s.setRoots(old, dirs)
		}
	}
}

func (h *Host) rootDirs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.roots)
}

// Set replaces the servers of the host: it starts new ones, ends those that are no longer
// listed and restarts those that have changed. It does not wait for any of this.
func (h *Host) Set(servers []Server) Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Change{Added: []string{}, Removed: []string{}, Errors: map[string]string{}}
	if h.closed {
		return c
	}
	wanted := make(map[string]Server)
	for _, s := range servers {
		switch _, double := wanted[s.Name]; {
		case strings.TrimSpace(s.Name) == "":
			c.Errors[s.Name] = "a server needs a name"
		case double:
			c.Errors[s.Name] = "there are two servers with this name"
		default:
			wanted[s.Name] = s
		}
	}
	known := h.peers.(peers)
	for name, p := range known {
		if s, stays := wanted[name]; !stays || !sameServer(s, p.cfg) {
			delete(known, name)
			p.cancel()
			if !stays {
				c.Removed = append(c.Removed, name)
			}
		}
	}
	h.assignKeys(slices.Collect(maps.Keys(wanted)))
	for name, s := range wanted {
		if known[name] == nil {
			p := newPeer(h, s, h.keys[name])
			known[name] = p
			c.Added = append(c.Added, name)
			h.runs.Go(p.run)
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Removed)
	h.changed()
	return c
}

func sameServer(a, b Server) bool {
	ra, errA := json.Marshal(a)
	rb, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(ra) == string(rb) && a.Problem == b.Problem
}

// assignKeys gives new servers their keys; those of the others stay.
func (h *Host) assignKeys(names []string) {
	all := serverKeys(append(names, slices.Collect(maps.Keys(h.keys))...))
	taken := make(map[string]bool)
	for _, key := range h.keys {
		taken[key] = true
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h.keys[name] != "" {
			continue
		}
		key := all[name]
		if taken[key] {
			key += "_" + digest(name)
		}
		h.keys[name], taken[key] = key, true
	}
}

// serverKeys gives each server the part of its tools' names that stands for it.
// A key has no double underscore and ends in none, so that the key and the rest
// of a name can be told apart and no two servers share a name.
func serverKeys(names []string) map[string]string {
	names = slices.Sorted(slices.Values(names))
	keys := make(map[string]string, len(names))
	taken := make(map[string]bool)
	for _, name := range names {
		if key := serverKey(name); key == name {
			keys[name], taken[key] = key, true
		}
	}
	for _, name := range names {
		key := serverKey(name)
		if keys[name] != "" {
			continue
		}
		if taken[key] {
			key += "_" + digest(name)
		}
		keys[name], taken[key] = key, true
	}
	return keys
}

// Reconnect closes the connection to a server, opens a new one and waits for it.
func (h *Host) Reconnect(ctx context.Context, server string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	h.cache.forget(p.cfg)
	p.mu.Lock()
	old := p.session
	p.enabled, p.drops = true, nil
	if old == nil && !p.connecting {
		p.connecting, p.settled = true, make(chan struct{})
	}
	p.mu.Unlock()
	p.kick()
	if old != nil {
		p.awaitLoss(ctx, old)
	}
	_, err = p.acquire(ctx)
	return err
}

// Toggle switches a server off, or on again. It does not wait.
func (h *Host) Toggle(server string, enabled bool) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	p.toggle(enabled)
	return nil
}

// Skills lists the skills of a server.
func (h *Host) Skills(ctx context.Context, server string) ([]Skill, error) {
	return ask(ctx, h, server, func(ctx context.Context, s *session) ([]Skill, error) {
		caps := s.wire.InitializeResult().Capabilities
		if caps == nil || caps.Extensions[skillsExtension] == nil {
			return nil, nil
		}
		var all []Skill
		params := new(skillsParams)
		for range maxPages {
			res, err := sdk.CallCustomMethod[*skillsParams, *rawResult](ctx, s.wire, "skills/list", params)
			if err != nil {
				return nil, err
			}
			for entry := range envelope.Elements(envelope.Field(res.raw, "skills")) {
				skill, err := readSkill(entry)
				if err != nil {
					return nil, err
				}
				skill.Server = server
				all = append(all, skill)
			}
			next := new(skillsParams)
			_ = json.Unmarshal(envelope.Field(res.raw, "nextCursor"), &next.Cursor) // absent: the last page
			if next.Cursor == "" || next.Cursor == params.Cursor {
				return all, nil
			}
			params = next
		}
		return nil, fmt.Errorf("the list has more than %d pages", maxPages)
	})
}

func readSkill(entry json.RawMessage) (s Skill, err error) {
	if err := json.Unmarshal(entry, &s); err != nil {
		return s, fmt.Errorf("could not read a skill: %w", err)
	}
	var front struct{ Name, Description string }
	if err := json.Unmarshal(s.Frontmatter, &front); err != nil {
		return s, fmt.Errorf("could not read the front matter of the skill %s: %w", s.URI, err)
	}
	s.Name, _ = clean(front.Name)
	s.Description, _ = clean(front.Description)
	return s, nil
}

// ReadSkill reads one file of a skill and verifies that it is the file that was listed.
func (h *Host) ReadSkill(ctx context.Context, skill Skill, uri string) (string, error) {
	i := slices.IndexFunc(skill.Files, func(f SkillFile) bool { return f.URI == uri })
	if i < 0 {
		return "", fmt.Errorf("the skill %s has no file %s", skill.Name, uri)
	}
	contents, err := h.ReadResource(ctx, skill.Server, uri)
	if err != nil {
		return "", err
	}
	if len(contents) != 1 {
		return "", fmt.Errorf("the server returned %d contents instead of one for the file %s", len(contents), uri)
	}
	text := contents[0].Text
	if contents[0].Blob != nil {
		text = string(contents[0].Blob)
	}
	if err := skill.Files[i].verify(text); err != nil {
		return "", err
	}
	if uri == skill.URI {
		if err := skill.verifyFront(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// Subscribe asks a server to report when a resource changes; see Options.OnUpdate. The
// subscription survives reconnects, until Unsubscribe. In the newer era of the protocol it is
// a stream of its own, and Subscribe does not wait for the server's reaction.
func (h *Host) Subscribe(ctx context.Context, server, uri string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	if fresh, err := p.claim(uri); !fresh || err != nil {
		return err
	}
	_, err = ask(ctx, h, server, func(ctx context.Context, s *session) (struct{}, error) {
		if caps := s.wire.InitializeResult().Capabilities; caps == nil || caps.Resources == nil || !caps.Resources.Subscribe {
			return struct{}{}, errNoSubscriptions
		}
		return struct{}{}, s.wire.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
	})
	if err != nil {
		p.disclaim(uri)
	}
	return err
}

// Resume waits for the result of a task that an earlier run began and Options.OnTask reported.
func (h *Host) Resume(ctx context.Context, t Task) (tool.Result, error) {
	p, err := peerOf(h, t.Server)
	if err != nil {
		return tool.Result{}, tool.Errorf("%w", err)
	}
	raw, err := ask(ctx, h, t.Server, func(ctx context.Context, s *session) (json.RawMessage, error) {
		state, err := s.lookAtTask(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		return s.poll(ctx, state, func() {})
	})
	if err != nil {
		return tool.Result{}, forModel(ctx, err)
	}
	o := p.offered(t.Tool)
	if o == nil {
		o = &offer{Tool: gate.Tool{Name: t.Tool}}
	}
	return p.read(o, raw)
}
