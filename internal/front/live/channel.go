package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A channel is the one by which others watch a conversation of this process.
type channel struct {
	talk  *harness.Conversation
	opts  Options
	told  *headless.Observer
	delay *time.Timer

	mu        sync.Mutex
	listening bool
	early     bool // there was nothing to watch yet: the next event looks again
	closed    bool
	listener  net.Listener
	notice    string // the file that says where the socket is
	observers map[*observer]bool
	questions map[*question]bool // that are open
	joined    sync.WaitGroup
}

// A question is one that is open until its context ends.
type question struct {
	ctx     context.Context
	request wire.Request
	// answer takes an answer, as JSON, that someone gave; it reports whether it counts.
	answer func(raw json.RawMessage, by string) bool
}

// delay is how long a session lasts before it can be watched, unless it asks something.
const delay = 50 * time.Millisecond

// Options say how a conversation is watched.
type Options struct {
	// Version is that of the program.
	Version string
	// Listen returns where those who watch a session connect, and decides who may; nil means
	// a socket of this user.
	Listen func(session string) (net.Listener, error)
	// Put puts a question to users in place of those who watch, and returns the answer as
	// JSON and who gave it; nil means that those who watch are asked.
	Put func(ctx context.Context, session string, r wire.Request) (answer json.RawMessage, by string, err error)
}

// Open returns a function that opens the channel of a conversation, for
// [harness.TalkOptions]. Version is that of the program.
func Open(version string) func(*harness.Conversation) harness.Channel {
	return OpenWith(&Options{Version: version})
}

// OpenWith is [Open] for a channel that is reached in another way.
func OpenWith(o *Options) func(*harness.Conversation) harness.Channel {
	return func(talk *harness.Conversation) harness.Channel {
		if !supported && o.Listen == nil {
			return nil
		}
		c := &channel{talk: talk, opts: *o, observers: map[*observer]bool{}, questions: map[*question]bool{}}
		c.mu.Lock() // listen may run before AfterFunc has returned
		defer c.mu.Unlock()
		c.told = headless.NewObserver(talk, o.Version, c.broadcast) // also of the calls that run when one joins
		wait := delay
		if o.Listen != nil {
			wait /= 10 // no file is made, and the session may be over soon
		}
		c.delay = time.AfterFunc(wait, c.listen)
		return c
	}
}

// listen makes the socket, once. A session that cannot be watched is none the worse, so
// errors are left.
func (c *channel) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening || c.closed {
		return
	}
	if c.opts.Listen != nil {
		c.listening = true
		listener, err := c.opts.Listen(c.talk.Agent.Session())
		if c.begin(listener); err == nil {
			c.joined.Go(func() { c.accept(listener) })
		}
		return
	}
	dir := c.talk.Journal().Dir()
	if _, err := os.Stat(dir); err != nil {
		c.early = true // nothing was said yet, so there is nothing to watch
		return
	}
	c.listening = true
	listener, path, err := listen()
	if err != nil {
		return
	}
	notice := filepath.Join(dir, noticeName)
	raw, err := json.Marshal(address{Socket: path, PID: os.Getpid()})
	if err == nil {
		err = os.WriteFile(notice, raw, 0o600)
	}
	if err != nil {
		listener.Close()
		return
	}
	c.notice = notice
	c.begin(listener)
	c.joined.Go(func() { c.accept(listener) })
}

// begin makes what shows the conversation to others. The channel is locked.
func (c *channel) begin(l net.Listener) {
	c.listener = l
}

// accept takes observers until the channel is closed.
func (c *channel) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if c.opts.Listen == nil && allowed(conn) != nil {
			conn.Close()
			continue
		}
		o := newObserver(c, conn)
		c.mu.Lock()
		if c.closed || len(c.observers) >= maxObservers {
			c.mu.Unlock()
			conn.Close()
			continue
		}
		c.observers[o] = true
		c.joined.Go(o.run)
		c.mu.Unlock()
	}
}

// maxObservers bounds who watches one session.
const maxObservers = 64

// Event shows what happens to those who watch.
func (c *channel) Event(ev agent.Event) {
	c.mu.Lock()
	if c.early {
		c.early = false
		c.delay.Reset(delay)
	}
	n := len(c.observers)
	for o := range c.observers {
		o.poke()
	}
	told := c.told
	c.mu.Unlock()
	if n > 0 {
		told.Event(ev)
	} else {
		told.Track(ev)
	}
	if changed, ok := ev.(agent.Changed); ok && changed.What == agent.Cleared {
		c.move()
	}
}

// move follows the conversation into another session: those who watch the old one were
// told its id, and see the end of the old one.
func (c *channel) move() {
	c.shut()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening, c.listener, c.notice = false, nil, ""
	if !c.closed {
		c.delay.Reset(delay)
	}
}

// broadcast sends a message that is not in the journal to all who watch.
func (c *channel) broadcast(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for o := range c.observers {
		o.tell(m)
	}
}

// Ask implements [harness.Channel].
func (c *channel) Ask(ctx context.Context, q *sched.Question) {
	c.ask(ctx, func(told *headless.Observer) *question {
		request := told.Question(q)
		return &question{ctx, request, func(raw json.RawMessage, by string) bool {
			var said wire.PermissionAnswer
			if json.Unmarshal(raw, &said) != nil {
				return false
			}
			v, ok := told.Verdict(request, said, by)
			return ok && c.talk.Answer(q.Case.Question, v, by)
		}}
	})
}

// Elicit implements [harness.Channel].
func (c *channel) Elicit(ctx context.Context, e mcp.Elicitation) {
	request := &wire.Elicitation{MCPServerName: e.Server, Message: e.Message, Mode: e.Mode, URL: e.URL, RequestedSchema: e.Schema, ElicitationID: e.ID}
	c.ask(ctx, func(*headless.Observer) *question {
		return &question{ctx, request, func(raw json.RawMessage, by string) bool {
			var a mcp.Answer
			if json.Unmarshal(raw, &a) != nil || a.Action != "accept" && a.Action != "decline" && a.Action != "cancel" {
				return false
			}
			return c.talk.AnswerElicitation(e.ID, a, by)
		}}
	})
}

// ask shows a question to the observers, now and later, as long as it is open.
func (c *channel) ask(ctx context.Context, newQuestion func(*headless.Observer) *question) {
	c.listen()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil || c.listener == nil && c.opts.Put == nil {
		return // the session cannot be watched
	}
	q := newQuestion(c.told)
	if c.opts.Put != nil {
		go c.put(q)
		return
	}
	c.questions[q] = true
	for o := range c.observers {
		o.poke() // it is asked when it has read what led to the question
	}
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.questions, q)
	})
}

// put asks users elsewhere until one has given an answer that counts.
func (c *channel) put(q *question) {
	for {
		raw, by, err := c.opts.Put(q.ctx, c.talk.Agent.Session(), q.request)
		if err != nil || q.answer(raw, by) {
			return
		}
	}
}

// Close ends the channel; those who watch are told the end of the journal first.
func (c *channel) Close() error {
	c.delay.Stop()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.shut()
	c.joined.Wait()
	return nil
}

// shut takes the socket away and lets observers go when they have heard what there is.
func (c *channel) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener == nil {
		return
	}
	if a, ok := readAddress(filepath.Dir(c.notice) + ".jsonl"); ok && a.PID == os.Getpid() { // another process may have continued the session
		os.Remove(c.notice)
	}
	c.listener.Close()
	for o := range c.observers {
		o.finish()
	}
}

// leave forgets an observer.
func (c *channel) leave(o *observer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.observers, o)
}

// open are the questions that are not answered yet.
func (c *channel) open() []*question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.questions))
}

// noticeName is the file in a session's folder that says where its socket is. The path
// of a socket must be short, and that of the folder need not be.
const noticeName = "live.json"

// An address is what that file has.
type address struct {
	Socket string `json:"socket"`
	PID    int    `json:"pid"`
}

// reply says what the session is like now.
func (c *channel) reply() wire.ObserveReply {
	return wire.ObserveReply{
		SessionID: c.talk.Agent.Session(), Cwd: c.talk.Dir(), Model: c.talk.Agent.ContextUsage().Model,
		PermissionMode: string(c.talk.World.Engine.Policy().Mode()), PID: os.Getpid(), Busy: c.talk.Agent.Busy(),
	}
}

// follow returns a follower of the conversation's journal.
func (c *channel) follow(from string) (*session.Follower, error) {
	path := c.talk.Journal().Path()
	if from == "end" {
		f, err := session.Follow(path, "")
		if err != nil {
			return nil, err
		}
		for {
			list, err := f.Next(context.Background())
			if err != nil {
				return nil, fmt.Errorf("find the end of the session's journal: %w", err)
			}
			if len(list) == 0 {
				return f, nil
			}
		}
	}
	return session.Follow(path, session.Position(from))
}
