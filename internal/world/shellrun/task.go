package shellrun

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// A State is a stage in the life of a task.
type State string

const (
	Running   State = "running"
	Exited    State = "exited"    // by itself
	TimedOut  State = "timed out" // ended at its time limit
	Cancelled State = "cancelled" // ended with the context of its call
	Stopped   State = "stopped"   // ended by Stop or Close
)

// A Task is one command, running or ended. It is safe for concurrent use.
type Task struct {
	id      string
	command string
	about   string
	tag     string
	owner   string
	started time.Time
	host    *Host
	shell   *Shell
	proc    Process
	pipe    *os.File
	output  *Output
	done    chan struct{}

	foreground bool // see Request

	mu         sync.Mutex
	background bool
	released   chan struct{} // closed when Release let the caller go
	announced  chan struct{} // closed when OnBackground was called for a task that was moved
	state      State         // what it will be when done
	result     Result
	cursor     int64 // of ReadNew
}

// A Result says how a task ended.
type Result struct {
	State   State
	Status  Status
	Elapsed time.Duration

	Dir        string // where the shell is now
	DirChanged bool   // by this command
	DirLost    bool   // the directory in which the command ended no longer exists or cannot be entered, so the shell stayed where it was
	DirHealed  string // the directory that no longer existed when the command started, so that it ran in Dir instead
}

// Progress is the state of a running task.
type Progress struct {
	TaskID   string
	Last     string // the last lines, without the final newline
	EndsLine bool   // the output ends with a newline
	Total    Counts
	Elapsed  time.Duration
}

func (t *Task) ID() string            { return t.id }
func (t *Task) Command() string       { return t.command }
func (t *Task) Description() string   { return t.about }
func (t *Task) Tag() string           { return t.tag }
func (t *Task) Owner() string         { return t.owner }
func (t *Task) Started() time.Time    { return t.started }
func (t *Task) Output() *Output       { return t.output }
func (t *Task) Done() <-chan struct{} { return t.done }

// Ended reports whether the task has ended.
func (t *Task) Ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// State is Running until the task has ended.
func (t *Task) State() State {
	if !t.Ended() {
		return Running
	}
	return t.Result().State
}

// Background reports whether the task was started in the background or moved
// there.
func (t *Task) Background() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.background
}

// Result waits for the end of the task.
func (t *Task) Result() Result {
	<-t.done
	return t.result
}

// Stop ends the command with all its descendants and waits until they are gone.
func (t *Task) Stop() Result {
	t.stop(Stopped)
	return t.Result()
}

// stopAfter ends the task at a time limit; 0 means none.
func (t *Task) stopAfter(limit time.Duration) {
	if limit <= 0 {
		return
	}
	timer := time.AfterFunc(limit, func() { t.stop(TimedOut) })
	go func() {
		<-t.done
		timer.Stop()
	}()
}

func (t *Task) stop(why State) {
	t.mu.Lock()
	if t.state == Exited {
		t.state = why
	}
	t.mu.Unlock()
	t.proc.End(t.host.opts.Grace)
}

// Release moves the task to the background and makes Run return. It reports false if the task
// has ended, is already there or must not go there.
func (t *Task) Release() bool {
	if !t.detach() {
		return false
	}
	close(t.released)
	return true
}

// Released reports whether Release moved the task to the background while Run was waiting for
// it.
func (t *Task) Released() bool {
	select {
	case <-t.released:
		return true
	default:
		return false
	}
}

// detach moves the task to the background. It reports false if the task is over, there
// already or must not go there.
func (t *Task) detach() bool {
	t.mu.Lock()
	if t.Ended() || t.background || t.foreground {
		t.mu.Unlock()
		return false
	}
	t.background = true
	t.announced = make(chan struct{})
	t.output.keep()
	t.mu.Unlock()
	defer close(t.announced)
	t.moved()
	return true
}

// moved tells that the task is in the background.
func (t *Task) moved() {
	if t.host.opts.OnBackground != nil {
		t.host.opts.OnBackground(t)
	}
}

// Progress returns the current state of the task.
func (t *Task) Progress() Progress {
	p := Progress{TaskID: t.id, Elapsed: time.Since(t.started)}
	p.Last, p.EndsLine, p.Total = t.output.lastLines(5, 2000)
	return p
}

// watch sees the task to its end. finish completes the result; from then on the
// task cannot move to the background any more.
func (t *Task) watch(finish func(r *Result, background bool)) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		copyOutput(t.output, t.pipe)
	}()
	<-t.proc.Done()
	t.mu.Lock()
	state := t.state // what stops it from now on comes too late
	t.mu.Unlock()
	_ = t.pipe.SetReadDeadline(time.Now()) // sets copyOutput to draining
	<-read
	t.pipe.Close()
	t.output.Close()

	r := Result{State: state, Status: t.proc.Status(), Elapsed: time.Since(t.started)}
	t.mu.Lock()
	background, announced := t.background, t.announced
	finish(&r, background)
	t.result = r
	close(t.done)
	t.mu.Unlock()

	if announced != nil {
		<-announced
	}
	t.host.ended(t)
	if background && t.host.opts.OnEnd != nil {
		t.host.opts.OnEnd(t)
	}
	t.host.active.Done()
}

const (
	drainTime  = 50 * time.Millisecond
	drainBytes = 1 << 20 // what a pipe can hold at most
)

// copyOutput reads until the end of the pipe, or, when its deadline says that
// the command is over, until the pipe is drained: a process that is no
// descendant may have been given the other end and keep it.
func copyOutput(to io.Writer, pipe *os.File) {
	buffer := make([]byte, 4<<10) // most commands write little
	for {
		n, err := pipe.Read(buffer)
		_, _ = to.Write(buffer[:n])
		if n == len(buffer) && n < 64<<10 {
			buffer = make([]byte, 64<<10)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return
		}
	}
	for drained := 0; drained < drainBytes; {
		_ = pipe.SetReadDeadline(time.Now().Add(drainTime))
		n, err := pipe.Read(buffer)
		_, _ = to.Write(buffer[:n])
		if err != nil {
			return
		}
		drained += n
	}
}
