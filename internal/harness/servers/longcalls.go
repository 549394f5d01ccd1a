package servers

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// longCalls lets calls of MCP servers that take long continue beside the conversation,
// as commands in the background do: the model continues, and is told of the result when
// it is there. What a server continues with by itself, a task, is also written down, so
// that a session that is resumed still gets the result.
type longCalls struct {
	link    *link.Link
	results *output.Store // keeps what is too long to be told
	after   time.Duration // how long a call is waited for
	ends    sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // in the background, by id
	tasks   []mcp.Task
	closed  bool
}

// StateCalls is the name under which a session keeps what servers continue with.
const StateCalls = "calls"

// longAfter is how long a call is waited for where nothing else is said.
const longAfter = 2 * time.Minute

// An ending is how a call ended.
type ending struct {
	result tool.Result
	err    error
}

func (l *longCalls) run(ctx context.Context, t *tool.Tool, c *tool.Call) (tool.Result, error) {
	if l.after < 0 {
		e := <-l.start(c.ID, func() (tool.Result, error) { return t.Run(ctx, c) })
		return e.result, e.err
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	untie := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	end := l.start(c.ID, func() (tool.Result, error) { return t.Run(own, c) })
	patience := time.NewTimer(l.after)
	defer patience.Stop()
	select {
	case e := <-end:
		cancel(nil)
		return e.result, e.err
	case <-patience.C:
	}
	if c.Agent != "" || !untie() {
		e := <-end
		cancel(nil)
		return e.result, e.err
	}
	id := l.follow(agent.Task{UseID: c.UseID, Description: t.Name}, cancel, end)
	return tool.Text(fmt.Sprintf("The call has taken longer than %s and continues in the background as %s. You will receive its result: continue with something else, and do not repeat the call.", l.after, id)), nil
}

// start runs a call, of which nothing is left to resume afterwards.
func (l *longCalls) start(call string, run func() (tool.Result, error)) <-chan ending {
	end := make(chan ending, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		end <- ending{err: tool.Errorf("The session is being closed.")}
		return end
	}
	l.ends.Go(func() {
		r, err := run()
		l.settled(call)
		end <- ending{r, err}
	})
	return end
}

// follow tells of the end of a call in the background, and returns its id.
func (l *longCalls) follow(task agent.Task, cancel context.CancelCauseFunc, end <-chan ending) string {
	task.ID = "m" + strings.ToLower(rand.Text()[:8])
	task.Type, task.Status, task.Background, task.Started = "mcp_call", "running", true, time.Now()
	l.mu.Lock()
	l.running[task.ID] = cancel
	l.mu.Unlock()
	l.link.Emit(agent.TaskChanged{Change: "started", Task: task})
	go func() {
		e := <-end
		l.mu.Lock()
		_, wanted := l.running[task.ID]
		delete(l.running, task.ID)
		closed := l.closed
		l.mu.Unlock()
		cancel(nil)
		if !closed {
			l.tell(task, e, wanted)
		}
	}()
	return task.ID
}

// tell tells the conversation how a call ended. Whoever has stopped one knows.
func (l *longCalls) tell(task agent.Task, e ending, wanted bool) {
	a := l.link.Agent()
	if a == nil {
		return
	}
	content := e.result.Content
	task.Ended, task.Status = time.Now(), "completed"
	switch {
	case !wanted:
		task.Status = "stopped"
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
		return
	case e.err != nil:
		task.Status, content = "failed", tool.Text(e.err.Error()).Content
	case e.result.Failed:
		task.Status = "failed"
	}
	content, kept := l.results.Bound(task.ID, content, maxTold)
	if kept != nil {
		task.OutputFile = kept.Path
	}
	var shown []model.Block
	for _, b := range content {
		if b.Type != tool.TextBlock {
			shown = append(shown, model.ContentOf(b))
		}
	}
	if len(shown) > 0 {
		a.Send(agent.Prompt{Origin: agent.TaskNotification, Silent: true, Content: append(shown, model.TextOf("This belongs to the result of "+task.ID+"."))})
	}
	task.Summary = fmt.Sprintf("The call to %s has %s:\n%s", task.Description, task.Status, tool.JoinText(content))
	a.Notify(task)
}

// maxTold is how many characters of a result a notification has; the whole is kept
// in a file.
const maxTold = 20_000

// settled takes back what began wrote. A call that ends with the session is not
// settled: its server continues.
func (l *longCalls) settled(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.tasks)
	l.tasks = slices.DeleteFunc(l.tasks, func(t mcp.Task) bool { return t.Call == call })
	if len(l.tasks) < before && !l.closed {
		l.link.Save(StateCalls, l.tasks)
	}
}

// resume waits for what an earlier process of the session has left at servers.
func (l *longCalls) resume(host *mcp.Host, tasks []mcp.Task) {
	l.mu.Lock()
	l.tasks = append(l.tasks, tasks...)
	l.mu.Unlock()
	for _, t := range tasks {
		ctx, cancel := context.WithCancelCause(context.Background())
		end := l.start(t.Call, func() (tool.Result, error) { return host.Resume(ctx, t) })
		l.follow(agent.Task{Description: fmt.Sprintf("%s at the MCP server %s, which was started before the session was interrupted,", t.Tool, t.Server)}, cancel, end)
	}
}

// began writes down what a server continues with.
func (l *longCalls) began(t mcp.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = append(l.tasks, t)
	l.link.Save(StateCalls, l.tasks)
}

// wrap returns tools whose calls may continue in the background. Those of agents do not:
// nobody waits for an agent, and what it has started ends with it.
func (l *longCalls) wrap(tools []tool.Tool) []tool.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		t := tools[i]
		tools[i].Run = func(ctx context.Context, c *tool.Call) (tool.Result, error) { return l.run(ctx, &t, c) }
	}
	return tools
}

// close lets go of all calls: the servers are about to be ended, and what they can go
// on with stays written down.
func (l *longCalls) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// stop ends a call in the background; false means that there is none of that id.
func (l *longCalls) stop(id string) bool {
	l.mu.Lock()
	cancel, ok := l.running[id]
	delete(l.running, id)
	l.mu.Unlock()
	if ok {
		cancel(context.Canceled)
	}
	return ok
}
