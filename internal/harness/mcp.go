package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/mcp/wirelog"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/mcpresource"
)

// MCPOptions are the MCP servers that a conversation has besides those of the
// settings. The zero value adds none.
type MCPOptions struct {
	// Entries come from the command line. Strict leaves those of the settings out.
	Entries []config.Entry
	Strict  bool
	// InProcess are servers in the program that drives the conversation, by name,
	// with what they said beforehand, which may be nil. Send reaches them.
	InProcess map[string]*mcp.Manifest
	Send      mcp.SendFunc
	// Elicit asks the person for what a server wants to know; nil means nobody.
	Elicit func(context.Context, mcp.Elicitation) (mcp.Answer, error)
	// Wait is how long the first turn waits for servers that are on their way: what
	// is not there by then joins at a later turn. 0 means not at all.
	Wait time.Duration
	// Background is how long a call is waited for before it goes on in the
	// background; 0 means two minutes, less than that that it never does.
	Background time.Duration
}

// servers are the MCP servers of a conversation. Nothing is started before there
// is one.
type servers struct {
	opts    MCPOptions
	version string
	known   *Servers
	long    *longCalls
	taking  sync.Mutex // while what servers offer is taken in: whoever looks last decides

	mu        sync.Mutex
	host      *mcp.Host
	log       *wirelog.Log // nil if none is wanted
	processes *shellrun.Host
	fixed     []mcp.Server    // of the settings and the command line
	dynamic   []mcp.Server    // that a program has set
	warned    map[string]bool // tools whose new descriptions the person knows of, by server and digest
}

// findServers finds out which servers the conversation has.
func (c *Conversation) findServers(o *TalkOptions) error {
	c.servers = &servers{opts: o.MCP, version: o.Version, warned: map[string]bool{}}
	s := c.servers
	s.long = &longCalls{world: c.World, after: cmp.Or(o.MCP.Background, longAfter), running: map[string]context.CancelCauseFunc{}}
	c.World.Library.Prompts = s.prompts
	if !s.opts.Strict {
		known, err := c.World.Project.Servers()
		if err != nil {
			return err
		}
		s.known, s.fixed = known, known.List
		for _, w := range known.Warnings {
			c.World.warn("mcp", w)
		}
	}
	given, warnings := config.Servers(s.opts.Entries, nil)
	for _, w := range warnings {
		c.World.warn("mcp", w)
	}
	s.fixed = slices.Concat(given, slices.DeleteFunc(slices.Clone(s.fixed), func(f mcp.Server) bool { return named(given, f.Name) }))
	for name, manifest := range s.opts.InProcess {
		s.dynamic = append(s.dynamic, mcp.Server{Name: name, Scope: "sdk", Type: "sdk", Manifest: manifest})
	}
	return nil
}

func (s *servers) any() bool { return len(s.fixed)+len(s.dynamic) > 0 }

// startServers starts the servers of the conversation, and returns at once.
func (c *Conversation) startServers() error {
	s := c.servers
	if !s.any() {
		return nil
	}
	host, err := c.MCP()
	if err != nil {
		return err
	}
	host.Start(slices.Concat(s.fixed, s.dynamic))
	s.long.resume(host, state[[]mcp.Task](c.Journal().Restored(), stateCalls))
	return nil
}

// find returns a server by its name.
func (s *servers) find(name string) (mcp.Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range [][]mcp.Server{s.dynamic, s.fixed} {
		for _, server := range list {
			if server.Name == name {
				return server, true
			}
		}
	}
	return mcp.Server{}, false
}

func named(list []mcp.Server, name string) bool {
	return slices.ContainsFunc(list, func(s mcp.Server) bool { return s.Name == name })
}

// MCP returns the host of the conversation's MCP servers, which it makes if there
// is none yet.
func (c *Conversation) MCP() (*mcp.Host, error) {
	s := c.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host != nil {
		return s.host, nil
	}
	auth, err := Logins()
	if err != nil {
		return nil, err
	}
	s.processes = shellrun.NewHost(&shellrun.Options{Reexec: c.World.opts.Reexec}) // apart from that of commands, which come and go
	opts := &mcp.Options{
		Version: s.version, Runner: s.processes.Runner(), Dir: c.World.Project.Dir, Auth: auth, Approve: s.approve, Roots: c.World.Engine.Guard().Roots(),
		Send: s.opts.Send, Elicit: s.opts.Elicit, Sampling: c.sampling(), OnChange: c.serversChanged, OnTask: s.long.began,
	}
	if cache, err := os.UserCacheDir(); err == nil {
		opts.CacheDir = filepath.Join(cache, "haft", "mcp")
	}
	if s.log = c.World.Project.wireLog(s.find); s.log != nil {
		opts.OnMessage = s.log.Message
	}
	s.host = mcp.NewHost(opts)
	return s.host, nil
}

// approve says whether a server may be started: what the person or the program
// said may, what the settings say by trust.
func (s *servers) approve(server mcp.Server) mcp.Verdict {
	if s.known == nil || named(s.dynamic, server.Name) {
		return mcp.Verdict{Allowed: true}
	}
	return s.known.Approve(server)
}

// serversChanged takes in what servers offer now, from the next request on.
func (c *Conversation) serversChanged() {
	c.warnOfNewWords()
	c.takeTools()
	c.warnOfServers()
}

func (c *Conversation) takeTools() {
	c.servers.taking.Lock()
	defer c.servers.taking.Unlock()
	a := c.World.talk.Load()
	if a == nil {
		return
	}
	if err := a.SetTools(c.pool()); err != nil {
		c.World.warn("mcp", "Could not load tools from MCP servers: "+err.Error())
	}
}

// warnOfServers tells which servers cannot be used, and why.
func (c *Conversation) warnOfServers() {
	if c.closing.Load() {
		return // their end is wanted
	}
	for _, s := range c.Servers() {
		switch s.State {
		case mcp.Failed:
			c.World.warn("mcp", fmt.Sprintf("the MCP server %s cannot be used: %s", s.Name, cmp.Or(s.Error, "it is not known why")))
		case mcp.NeedsAuth:
			c.World.warn("mcp", fmt.Sprintf("the MCP server %s wants a login: haft mcp login %s", s.Name, s.Name))
		}
	}
}

// warnOfNewWords tells the person of tools that describe themselves otherwise than
// before: what was agreed to may have become something else.
func (c *Conversation) warnOfNewWords() {
	s := c.servers
	for _, server := range c.Servers() {
		for _, t := range server.Tools {
			s.mu.Lock()
			fresh := t.Changed && !s.warned[server.Name+t.Digest]
			if fresh {
				s.warned[server.Name+t.Digest] = true
			}
			s.mu.Unlock()
			if fresh {
				c.World.emit(agent.Notice{Level: "warning", Text: fmt.Sprintf("The tool %s of the MCP server %s describes itself otherwise than when it was last connected. Look at it before you go on allowing it.", t.Name, server.Name)})
			}
		}
	}
}

// pool is every tool there is with what servers offer now.
func (c *Conversation) pool() *tool.Set {
	session := *c.Tools().Session()
	host := c.servers.host
	if host == nil {
		return c.World.Set(&session)
	}
	session.Flags = maps.Clone(session.Flags)
	session.Flags[mcpresource.Flag] = true // also if a program has just set the first server
	return c.World.Set(&session, c.servers.long.wrap(host.Tools())...)
}

// resources are those of the conversation's servers, whichever these are when
// somebody asks.
type resources struct{ *World }

func (r resources) host() (*mcp.Host, error) {
	c := r.conversation.Load()
	if c == nil {
		return nil, errors.New("MCP servers belong to conversations, and there is none")
	}
	return c.MCP()
}

// Resources lists the resources of a server, or of all.
func (r resources) Resources(ctx context.Context, server string) ([]mcp.Resource, error) {
	h, err := r.host()
	if err != nil {
		return nil, err
	}
	return h.Resources(ctx, server)
}

// ReadResource reads one.
func (r resources) ReadResource(ctx context.Context, server, uri string) ([]mcp.Contents, error) {
	h, err := r.host()
	if err != nil {
		return nil, err
	}
	return h.ReadResource(ctx, server, uri)
}

// awaitServers gives servers that are on their way the time to be there.
func (c *Conversation) awaitServers(ctx context.Context) {
	s := c.servers
	if s.host == nil || s.opts.Wait <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	if s.host.Wait(ctx) == nil || len(s.host.Tools()) > 0 {
		c.serversChanged()
	}
}

// SetServers makes these the servers that a program has set, in place of those it
// set before. A config of the type sdk is a server inside the program.
func (c *Conversation) SetServers(configs map[string]json.RawMessage) (mcp.Change, error) {
	host, err := c.MCP()
	if err != nil {
		return mcp.Change{}, err
	}
	var dynamic []mcp.Server
	for name, raw := range configs {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &kind) == nil && kind.Type == "sdk" {
			dynamic = append(dynamic, mcp.Server{Name: name, Scope: "sdk", Type: "sdk"})
			continue
		}
		made, _ := config.Servers([]config.Entry{{Name: name, Raw: raw, Scope: "dynamic", Origin: "the program"}}, nil)
		dynamic = append(dynamic, made...)
	}
	s := c.servers
	s.mu.Lock()
	s.dynamic = dynamic
	all := slices.Concat(dynamic, slices.DeleteFunc(slices.Clone(s.fixed), func(f mcp.Server) bool { return named(dynamic, f.Name) }))
	s.mu.Unlock()
	change := host.Set(all)
	c.serversChanged() // the next turn is without those that are gone
	return change, nil
}

// Servers tells how the MCP servers are; none if there are none.
func (c *Conversation) Servers() []mcp.Status {
	s := c.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host == nil {
		return nil
	}
	return s.host.Status()
}

// HasServer reports whether there is an MCP server of that name.
func (c *Conversation) HasServer(name string) error {
	if slices.ContainsFunc(c.Servers(), func(s mcp.Status) bool { return s.Name == name }) {
		return nil
	}
	return fmt.Errorf("there is no MCP server %q", name)
}

// tellRoots tells servers in which folders the conversation works now.
func (s *servers) tellRoots(dirs []string) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host != nil {
		host.SetRoots(dirs)
	}
}

// prompts are those of the servers, as commands.
func (s *servers) prompts() []commands.Prompt {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return nil
	}
	return Prompts(host)()
}

// close ends the servers with everything they have started.
func (s *servers) close() error {
	s.mu.Lock()
	host, processes, log := s.host, s.processes, s.log
	s.mu.Unlock() // the log may still want to know of a server
	if host == nil {
		return nil
	}
	s.long.close()
	err := errors.Join(host.Close(), processes.Close(), log.Close())
	s.long.ends.Wait()
	return err
}
