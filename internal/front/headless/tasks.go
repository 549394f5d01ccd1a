package headless

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

// task reports background work.
func (t *teller) task(ev agent.TaskChanged) {
	k := ev.Task
	switch ev.Change {
	case "started":
		if k.Type == "local_agent" {
			t.agents[k.ID] = k
		}
		t.background(k)
		t.send(&wire.TaskStarted{Stamp: t.stamp(""), TaskID: k.ID, RunID: k.ID, ToolUseID: k.UseID, Description: k.Description,
			TaskType: k.Type, IsBackgrounded: k.Background, SubagentType: k.AgentType, Prompt: k.Prompt})
	case "progress":
		t.send(&wire.TaskProgress{Stamp: t.stamp(""), TaskID: k.ID, ToolUseID: k.UseID, Description: k.Description,
			SubagentType: k.AgentType, Usage: taskUsage(k), LastToolName: k.LastTool, Summary: k.Summary})
	case "updated":
		t.send(&wire.TaskUpdated{Stamp: t.stamp(""), TaskID: k.ID, Patch: wire.TaskPatch{Status: k.Status, IsBackgrounded: &k.Background}})
		t.background(k)
	case "ended":
		t.send(&wire.TaskUpdated{Stamp: t.stamp(""), TaskID: k.ID, Patch: wire.TaskPatch{Status: k.Status, EndTime: k.Ended.UnixMilli()}})
		t.send(&wire.TaskNotification{Stamp: t.stamp(""), TaskID: k.ID, ToolUseID: k.UseID, Status: k.Status,
			OutputFile: k.OutputFile, Summary: k.Summary, Usage: taskUsage(k)})
		t.background(k)
		if k.Status == "stopped" && !t.inTurn { // otherwise a turn follows that tells the model
			t.rest()
		}
	}
}

func taskUsage(k agent.Task) *wire.TaskUsage {
	end := k.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return &wire.TaskUsage{TotalTokens: int(k.Tokens), ToolUses: k.ToolUses, DurationMS: end.Sub(k.Started).Milliseconds()}
}

// background keeps the list of background tasks, and reports when it changes.
func (t *teller) background(k agent.Task) {
	_, was := t.tasks[k.ID]
	is := k.Background && k.Ended.IsZero()
	if was == is {
		return
	}
	if is {
		t.tasks[k.ID] = k
	} else {
		delete(t.tasks, k.ID)
	}
	t.send(t.backgroundTasks())
}

func (t *teller) backgroundTasks() *wire.BackgroundTasksChanged {
	m := &wire.BackgroundTasksChanged{Stamp: t.stamp("")}
	for _, k := range slices.SortedFunc(maps.Values(t.tasks), func(a, b agent.Task) int { return cmp.Compare(a.ID, b.ID) }) {
		m.Tasks = append(m.Tasks, wire.BackgroundTask{TaskID: k.ID, TaskType: k.Type, Description: k.Description, SubagentType: k.AgentType})
	}
	return m
}

// parent is the call that a sub-agent belongs to; "" is the main conversation.
func (t *teller) parent(agentID string) wire.NullString {
	return wire.NullString(t.agents[agentID].UseID)
}

// heartbeats report long calls, so that a host knows that they are alive.
type heartbeats struct {
	every time.Duration
	beat  func(useID, tool string, n int, elapsed time.Duration)

	mu    sync.Mutex
	stops map[string]func() bool
}

func (h *heartbeats) begin(callID, useID, tool string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	started := time.Now()
	n := 0
	var timer *time.Timer
	timer = time.AfterFunc(h.every, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, runs := h.stops[callID]; !runs {
			return
		}
		h.beat(useID, tool, n, time.Since(started))
		n++
		timer.Reset(h.every)
	})
	h.stops[callID] = timer.Stop
}

func (h *heartbeats) end(callID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop, ok := h.stops[callID]; ok {
		stop()
		delete(h.stops, callID)
	}
}
