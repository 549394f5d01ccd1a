// Package servers runs the MCP servers of a conversation: it starts them, takes in what
// they offer, lets long calls continue in the background and lends them the model.
//
//	s, err := servers.New(&servers.Options{Project: p, Link: l, …})
//	defer s.Close()
//	err = s.Start(tasks)
//
// Nothing is started before Start or Open. A Servers is safe for concurrent use.
package servers

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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/harness/project"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/mcp/wirelog"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Given are the MCP servers that a conversation has besides those of the
// settings. The zero value adds none.
type Given struct {
	// Entries come from the command line. Strict leaves those of the settings out.
	Entries []config.Entry
	Strict  bool
	// InProcess are servers in the program that drives the conversation, by name,
	// with what they said beforehand, which may be nil. Send reaches them.
	InProcess map[string]*mcp.Manifest
	Send      mcp.SendFunc
	// Believed says that what these servers say about their tools counts: the program is the
	// user's own.
	Believed bool
	// Elicit asks the user for what a server wants to know; nil means nobody.
	Elicit func(context.Context, mcp.Elicitation) (mcp.Answer, error)
	// Wait is how long the first turn waits for servers that are on their way: what
	// is not there by then joins at a later turn. 0 means not at all.
	Wait time.Duration
	// Waiting is told which servers the first turn waits for, and how long at most, once
	// that takes longer than a moment; nil means nobody is.
	Waiting func(names []string, most time.Duration)
	// Background is how long a call is waited for before it continues in the
	// background; 0 means two minutes, less than that that it never does.
	Background time.Duration
}

// Options are what the servers of a conversation are made of. Project, Link, Roots, Model
// and Changed must be set.
type Options struct {
	// Given are the servers besides those of the settings.
	Given   Given
	Version string
	Project *project.Project
	Link    *link.Link
	Reexec  shellrun.Reexec
	// Roots are the folders that the conversation works in now.
	Roots func() []string
	// Model is what answers servers that may use the model, and its name.
	Model func() (client model.Model, name string)
	// Changed is told that the servers offer other tools than before.
	Changed func()
}

// Servers are the MCP servers of a conversation.
type Servers struct {
	opts    Options
	known   *project.Servers
	long    *longCalls
	told    told
	updates updates
	closing atomic.Bool

	mu        sync.Mutex
	host      *mcp.Host
	log       *wirelog.Log // nil if none is wanted
	processes *shellrun.Host
	fixed     []mcp.Server    // of the settings and the command line
	dynamic   []mcp.Server    // that a program has set
	warned    map[string]bool // tools whose new descriptions the user knows, by server and digest
}

// New finds out which servers the conversation has.
func New(opts *Options) (*Servers, error) {
	s := &Servers{opts: *opts, warned: map[string]bool{}}
	s.long = &longCalls{link: opts.Link, results: opts.Project.Results(), after: cmp.Or(opts.Given.Background, longAfter), running: map[string]context.CancelCauseFunc{}}
	host := opts.Project.Options.ToolHost
	if host != nil && len(opts.Given.Entries) > 0 {
		return nil, &project.UsageError{Err: errors.New("--tools-on and --mcp-config cannot be used together: the MCP servers would run on this machine")}
	}
	var err error
	if s.known, err = opts.Project.Servers(); err != nil { // an administrator's rules count in any case
		return nil, err
	}
	if !opts.Given.Strict && host == nil {
		s.fixed = s.known.List
		for _, w := range s.known.Warnings {
			opts.Link.Warn("mcp", w)
		}
	}
	given, warnings := config.Servers(opts.Given.Entries, nil)
	for _, w := range warnings {
		opts.Link.Warn("mcp", w)
	}
	s.fixed = slices.Concat(given, slices.DeleteFunc(slices.Clone(s.fixed), func(f mcp.Server) bool { return named(given, f.Name) }))
	if host != nil { // other servers would be tools on this machine
		s.fixed = []mcp.Server{host.Server()}
	}
	for name, manifest := range opts.Given.InProcess {
		if host != nil && name == toolhost.Name {
			return nil, fmt.Errorf("the MCP server in this program cannot be named %q: the machine that runs the tools of this session has this name. Choose another one", name)
		}
		s.dynamic = append(s.dynamic, mcp.Server{Name: name, Scope: scopeSDK, Type: mcp.SDK, Manifest: manifest, Trusted: opts.Given.Believed})
	}
	return s, nil
}

// Any reports whether there are servers.
func (s *Servers) Any() bool { return len(s.fixed)+len(s.dynamic) > 0 }

// Start starts the servers, and returns at once. Tasks are the calls that an earlier
// process of the session has left at them.
func (s *Servers) Start(tasks []mcp.Task) error {
	if !s.Any() {
		return nil
	}
	host, err := s.Open()
	if err != nil {
		return err
	}
	s.mu.Lock()
	all := s.allLocked()
	s.mu.Unlock()
	host.Start(all)
	s.long.resume(host, tasks)
	return nil
}

// allLocked are the servers of which there is one of each name: that of a program, which takes
// the place of one that the settings or the command line have.
func (s *Servers) allLocked() []mcp.Server {
	return slices.Concat(s.dynamic, slices.DeleteFunc(slices.Clone(s.fixed), func(f mcp.Server) bool { return named(s.dynamic, f.Name) }))
}

// find returns a server by its name.
func (s *Servers) find(name string) (mcp.Server, bool) {
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

// Fixed returns the server of a name that the settings or the command line have, even if one
// that a program has set takes its place.
func (s *Servers) Fixed(name string) (mcp.Server, bool) {
	i := slices.IndexFunc(s.fixed, func(f mcp.Server) bool { return f.Name == name })
	if i < 0 {
		return mcp.Server{}, false
	}
	return s.fixed[i], true
}

func named(list []mcp.Server, name string) bool {
	return slices.ContainsFunc(list, func(s mcp.Server) bool { return s.Name == name })
}

// Open returns the host of the servers, which it makes if there is none yet.
func (s *Servers) Open() (*mcp.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host != nil {
		return s.host, nil
	}
	auth, err := project.Logins()
	if err != nil {
		return nil, err
	}
	s.processes = shellrun.NewHost(&shellrun.Options{Reexec: s.opts.Reexec}) // apart from that of commands, which come and go
	opts := &mcp.Options{
		Version: s.opts.Version, Runner: s.processes.Runner(), Box: s.opts.Project.Boxes.Server(s.processes), Dir: s.opts.Project.Dir, Auth: auth, Approve: s.approve, Roots: s.opts.Roots(),
		Send: s.opts.Given.Send, Elicit: s.elicit(), Sampling: s.sampling(), OnChange: s.Refresh, OnTask: s.long.began, OnUpdate: s.updates.update,
	}
	if cache, err := os.UserCacheDir(); err == nil {
		opts.CacheDir = filepath.Join(cache, "haft", "mcp")
	}
	for _, w := range project.BoundServers(opts) {
		s.opts.Link.Warn("mcp", w)
	}
	if s.log = s.opts.Project.WireLog(s.find); s.log != nil {
		opts.OnMessage = s.log.Message
	}
	s.host = mcp.NewHost(opts)
	return s.host, nil
}

// approve says whether a server may be started: one that the user or the program gave may
// unless an administrator forbids it, and one that the settings have needs the user's trust as
// well. A server is known by where it comes from, which it cannot say of itself: a name is
// anyone's to choose.
func (s *Servers) approve(server mcp.Server) mcp.Verdict {
	if server.Scope == scopeSDK || server.Scope == scopeDynamic {
		return s.known.Rules.Approve(nil)(server)
	}
	return s.known.Approve(server)
}

// Scopes of servers that a conversation is given: inside the program, and otherwise.
const (
	scopeSDK     = "sdk"
	scopeDynamic = "dynamic"
)

// Refresh takes in what servers offer now, from the next request on.
func (s *Servers) Refresh() {
	s.warnOfNewWords()
	s.opts.Changed()
	s.warnOfServers()
}

// warnOfServers tells which servers cannot be used, and why.
func (s *Servers) warnOfServers() {
	if s.closing.Load() {
		return // their end is wanted
	}
	for _, server := range s.Status() {
		switch server.State {
		case mcp.Failed:
			s.opts.Link.Warn("mcp", fmt.Sprintf("cannot use the MCP server %s: %s", server.Name, cmp.Or(server.Error, "the cause is unknown")))
		case mcp.NeedsAuth:
			s.opts.Link.Warn("mcp", fmt.Sprintf("the MCP server %s needs a login: haft mcp login %s", server.Name, server.Name))
		}
	}
}

// warnOfNewWords tells the user of tools that describe themselves differently from
// before: what was agreed to may have become something else.
func (s *Servers) warnOfNewWords() {
	for _, server := range s.Status() {
		for _, t := range server.Tools {
			s.mu.Lock()
			fresh := t.Changed && !s.warned[server.Name+t.Digest]
			if fresh {
				s.warned[server.Name+t.Digest] = true
			}
			s.mu.Unlock()
			if fresh {
				s.opts.Link.Emit(agent.Notice{Level: "warning", Text: fmt.Sprintf("The description of tool %s of the MCP server %s has changed since the last connection. Review it before you keep allowing it.", t.Name, server.Name)})
			}
		}
	}
}

// Tools are what the servers offer now; false before there is a host.
func (s *Servers) Tools() ([]tool.Tool, bool) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return nil, false
	}
	return s.long.wrap(host.Tools()), true
}

// Resources lists the resources of a server, or of all.
func (s *Servers) Resources(ctx context.Context, server string) ([]mcp.Resource, error) {
	h, err := s.Open()
	if err != nil {
		return nil, err
	}
	return h.Resources(ctx, server)
}

// RefreshTools connects a server again, or all that are not connected, takes in what
// they offer, and returns how they are. It is for the model: what is switched off stays so.
func (s *Servers) RefreshTools(ctx context.Context, server string) ([]mcp.Status, error) {
	h, err := s.Open()
	if err != nil {
		return nil, err
	}
	for _, st := range h.Status() {
		if st.State == mcp.Disabled || st.Name != server && (server != "" || st.State == mcp.Connected) {
			continue
		}
		if err := h.Reconnect(ctx, st.Name); err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	s.Refresh()
	all := h.Status()
	if server == "" {
		return all, nil
	}
	all = slices.DeleteFunc(all, func(st mcp.Status) bool { return st.Name != server })
	if len(all) == 0 {
		return nil, mcp.UnknownServer(server)
	}
	return all, nil
}

// Reruns returns a file of the project that RefreshTools would run; "" if it would run none.
func (s *Servers) Reruns(server string) string {
	connected := map[string]bool{}
	for _, st := range s.Status() {
		connected[st.Name] = st.State == mcp.Connected
	}
	s.mu.Lock()
	all := s.allLocked()
	s.mu.Unlock()
	for i := range all {
		if all[i].Disabled || all[i].Name != server && (server != "" || connected[all[i].Name]) {
			continue
		}
		if file := s.opts.Project.FileRunBy(&all[i]); file != "" {
			return file
		}
	}
	return ""
}

// Await gives servers that are on their way the time to be there. Those whose tools are
// known from an earlier connection are not waited for: the first call does that.
func (s *Servers) Await(ctx context.Context) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	most := s.patience()
	if host == nil || most <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if s.opts.Given.Waiting != nil {
		defer time.AfterFunc(moment, func() { s.opts.Given.Waiting(onTheirWay(host.Status()), most) }).Stop()
	}
	if host.WaitForTools(ctx) == nil || len(host.Tools()) > 0 {
		s.Refresh()
	}
}

// elicit is how servers ask the user. A question of the machine where the tools run says which
// machine that is: the same command is another matter elsewhere.
func (s *Servers) elicit() func(context.Context, mcp.Elicitation) (mcp.Answer, error) {
	ask, host := s.opts.Given.Elicit, s.opts.Project.Options.ToolHost
	if ask == nil || host == nil {
		return ask
	}
	return func(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
		if e.Server == toolhost.Name {
			e.Message = "On " + host.Machine() + ": " + e.Message
		}
		return ask(ctx, e)
	}
}

// AwaitToolHost waits until the machine is connected where the tools run, and returns how it is.
func (s *Servers) AwaitToolHost(ctx context.Context) (mcp.Status, error) {
	h, err := s.Open()
	if err == nil {
		err = h.WaitFor(ctx, toolhost.Name)
	}
	if err != nil {
		return mcp.Status{}, err
	}
	all := h.Status()
	i := slices.IndexFunc(all, func(st mcp.Status) bool { return st.Name == toolhost.Name })
	switch {
	case i < 0:
		return mcp.Status{}, mcp.UnknownServer(toolhost.Name)
	case all[i].State != mcp.Connected:
		return mcp.Status{}, errors.New(cmp.Or(all[i].Error, "the cause is unknown"))
	}
	return all[i], nil
}

// patience is how long the first turn waits at most: what the conversation says, or
// instead of it mcp.wait of the settings in milliseconds.
func (s *Servers) patience() time.Duration {
	var millis float64
	v, ok := s.opts.Project.Counts.Lookup("mcp", "wait")
	if ok && s.opts.Given.Wait > 0 && json.Unmarshal(v.JSON, &millis) == nil && millis >= 0 {
		return min(time.Duration(millis*float64(time.Millisecond)), time.Hour)
	}
	return s.opts.Given.Wait
}

// moment is how long nobody wonders what is waited for.
const moment = time.Second

func onTheirWay(all []mcp.Status) (names []string) {
	for _, server := range all {
		if server.State == mcp.Pending && !server.Unapproved && len(server.Tools) == 0 {
			names = append(names, server.Name)
		}
	}
	return names
}

// Set makes these the servers that a program has set, in place of those it
// set before. A config of the type sdk is a server inside the program.
func (s *Servers) Set(configs map[string]json.RawMessage) (mcp.Change, error) {
	host, err := s.Open()
	if err != nil {
		return mcp.Change{}, err
	}
	var dynamic []mcp.Server
	refused := map[string]string{}
	for name, raw := range configs {
		var kind struct {
			Type string `json:"type"`
		}
		isSDK := json.Unmarshal(raw, &kind) == nil && kind.Type == "sdk"
		switch {
		case s.opts.Project.Options.ToolHost != nil && name == toolhost.Name:
			refused[name] = "the machine that runs the tools of this session has this name. Choose another one"
			continue
		case s.opts.Project.Options.ToolHost != nil && !isSDK:
			refused[name] = "the tools of this session run on another machine, and the server would run on this one"
			continue
		case isSDK:
			dynamic = append(dynamic, mcp.Server{Name: name, Scope: scopeSDK, Type: mcp.SDK, Trusted: s.opts.Given.Believed})
			continue
		}
		made, _ := config.Servers([]config.Entry{{Name: name, Raw: raw, Scope: scopeDynamic, Origin: "the program"}}, nil)
		dynamic = append(dynamic, made...)
	}
	s.mu.Lock()
	s.dynamic = dynamic
	all := s.allLocked()
	s.mu.Unlock()
	change := host.Set(all)
	maps.Copy(change.Errors, refused)
	s.Refresh() // the next turn is without those that are gone
	return change, nil
}

// Status tells how the servers are; nil if there are none.
func (s *Servers) Status() []mcp.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host == nil {
		return nil
	}
	return s.host.Status()
}

// Has returns an error if there is no server of that name.
func (s *Servers) Has(name string) error {
	if slices.ContainsFunc(s.Status(), func(s mcp.Status) bool { return s.Name == name }) {
		return nil
	}
	return fmt.Errorf("there is no MCP server %q", name)
}

// SetRoots tells servers in which folders the conversation works now.
func (s *Servers) SetRoots(dirs []string) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host != nil {
		host.SetRoots(dirs)
	}
}

// Prompts are those of the servers, as commands.
func (s *Servers) Prompts() []commands.Prompt {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return nil
	}
	return commandsOf(host)
}

// commandsOf returns the prompts of servers as commands. What is typed after one are its
// arguments in order; the last takes all that is left.
func commandsOf(h promptHost) []commands.Prompt {
	var list []commands.Prompt
	for _, p := range h.Prompts() {
		list = append(list, commands.Prompt{
			Name: p.Command, Description: p.Description, Hint: promptHint(p.Arguments),
			Get: func(ctx context.Context, words []string) (string, error) {
				messages, err := h.GetPrompt(ctx, p.Command, promptArguments(p.Arguments, words))
				return promptText(messages), err
			},
		})
	}
	return list
}

// Close ends the servers with everything they have started.
func (s *Servers) Close() error {
	s.closing.Store(true)
	s.mu.Lock()
	host, processes, log := s.host, s.processes, s.log
	s.mu.Unlock() // the log may still want to know of a server
	if host == nil {
		return nil
	}
	s.long.close()
	err := errors.Join(host.Close(), processes.Close(), log.Close())
	s.long.ends.Wait()
	s.updates.ends.Wait()
	return err
}

// StopCall ends a call in the background; false means that there is none of that id.
func (s *Servers) StopCall(id string) bool { return s.long.stop(id) }

// Mentioned splits server:uri, if there is such a server.
func (s *Servers) Mentioned(word string) (server, uri string, ok bool) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return "", "", false
	}
	return host.Mention("@" + word)
}

// Tell is a reminder: the instructions of servers, which servers are configured but not
// connected, and which resources have changed since they were read. Each thing is told once, and again when it has changed or the model
// has forgotten it, which is when first is set. It is told beside the system prompt,
// because a server may connect at any time and what the provider has cached must stay.
func (s *Servers) Tell(_ context.Context, first bool) (texts []string) {
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	if first || s.told.instructions == nil {
		s.told.instructions, s.told.absences = map[string]string{}, map[string]string{}
	}
	all := s.Status()
	return slices.Concat(s.told.newInstructions(all), s.told.newAbsences(all), s.updates.tell())
}

// WhyMissing says why the model has no tool of a name that would be one of a server's; "" if
// it is not because of a server.
func (s *Servers) WhyMissing(name string) string {
	for _, server := range s.Status() {
		if why := absence(server); why != "" && strings.HasPrefix(name, server.Prefix) {
			return fmt.Sprintf("The MCP server %s is not connected: %s.", server.Name, strings.TrimSuffix(why, "."))
		}
	}
	return ""
}

// CompletePrompt asks a server how the argument of one of its prompts may continue: words
// are the arguments before it.
func (s *Servers) CompletePrompt(ctx context.Context, command string, words []string, typed string) []string {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return nil
	}
	prompts := host.Prompts()
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Command == command })
	if i < 0 || len(words) >= len(prompts[i].Arguments) {
		return nil
	}
	p := prompts[i]
	values, _, err := host.Complete(ctx, mcp.Completion{Server: p.Server, Prompt: p.Name, Argument: p.Arguments[len(words)].Name, Value: typed, Others: promptArguments(p.Arguments[:len(words)], words)})
	if err != nil {
		return nil // completion is a convenience: the prompt itself says what is wrong
	}
	return typeable(values)
}

// CompleteResource completes server:uri, the mention of a resource. The variables of
// templates are completed by the server.
func (s *Servers) CompleteResource(ctx context.Context, typed string) (words []string) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	name, uri, named := strings.Cut(typed, ":")
	if host == nil {
		return nil
	}
	for _, st := range host.Status() {
		if !named && strings.HasPrefix(st.Name, name) && st.State == mcp.Connected {
			words = append(words, st.Name+":")
		}
		if !named || st.Name != name || st.State != mcp.Connected {
			continue
		}
		list, err := host.Resources(ctx, name)
		if err != nil {
			return nil
		}
		for _, r := range list {
			if !r.Template && strings.HasPrefix(r.URI, uri) && visible.Name(r.URI) == r.URI {
				words = append(words, name+":"+r.URI)
			}
			if r.Template {
				for _, filled := range fill(ctx, host, r, uri) {
					words = append(words, name+":"+filled)
				}
			}
		}
	}
	return words
}

// sampling lets MCP servers use the conversation's model, if the settings switch it on:
// {"mcp": {"sampling": true}}. The user is asked about each server once, and what a
// server gets is counted as the conversation's. Nil means that servers cannot.
func (s *Servers) sampling() *mcp.Sampling {
	if !s.opts.Project.Counts.Flag("mcp", "sampling") {
		return nil
	}
	allowed := &mcp.Sampling{Create: s.sample}
	if v, ok := s.opts.Project.Counts.Lookup("mcp", "samplingTokens"); ok {
		_ = json.Unmarshal(v.JSON, &allowed.MaxTokens) // doctor tells what is wrong with it
	}
	if elicit := s.opts.Given.Elicit; elicit != nil {
		allowed.Consent = func(ctx context.Context, server string) (bool, error) {
			answer, err := elicit(ctx, mcp.Elicitation{
				Server: server, Mode: "form", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
				Message: "May this server use the model? It writes the prompts and receives the answers, and you pay for both.",
			})
			return err == nil && answer.Action == "accept", err
		}
	}
	return allowed
}

// sample asks the model for a server. It sees nothing of the conversation.
func (s *Servers) sample(ctx context.Context, r mcp.SamplingRequest) (mcp.SamplingResult, error) {
	history, err := sampled(r.Messages)
	if err != nil {
		return mcp.SamplingResult{}, err
	}
	tools, err := sampledTools(r.Tools)
	if err != nil {
		return mcp.SamplingResult{}, err
	}
	client, name := s.opts.Model()
	request := &model.Request{Model: name, Messages: history, Tools: tools, MaxTokens: r.MaxTokens}
	if r.System != "" {
		request.System = []model.System{{Text: r.System}}
	}
	var blocks []model.Block
	var stop model.Stop
	for ev, err := range client.Stream(ctx, request) {
		switch ev := ev.(type) {
		case model.Start:
			blocks = nil // what came of an answer that broke off does not count
		case model.BlockStop:
			blocks = append(blocks, ev.Block)
		case model.Stop:
			stop = ev
		}
		if err != nil {
			return mcp.SamplingResult{}, err
		}
	}
	s.opts.Link.Spend(name, stop.Usage)
	content, err := forServer(blocks)
	return mcp.SamplingResult{Model: name, StopReason: cmp.Or(stopReasons[stop.Reason], string(stop.Reason)), Content: content}, err
}

// ReadResource reads one. The model is told if it changes afterwards, where its server
// tells: it is subscribed to beside the reading, so that a change meanwhile is not missed.
func (s *Servers) ReadResource(ctx context.Context, server, uri string) ([]mcp.Contents, error) {
	h, err := s.Open()
	if err != nil {
		return nil, err
	}
	s.updates.follow(resource{server, uri})
	s.updates.ends.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subscribeTime)
		defer cancel()
		_ = h.Subscribe(ctx, server, uri) // most servers offer none
	})
	contents, err := h.ReadResource(ctx, server, uri)
	if err != nil {
		s.updates.forget(resource{server, uri})
	}
	return contents, err
}
