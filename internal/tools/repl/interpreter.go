package repl

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

var (
	//go:embed python.py
	pythonLoop string
	//go:embed javascript.js
	javascriptLoop string
)

// A language is how its interpreter is found and started.
type language struct {
	title    string
	programs []string // the first that is there
	args     []string // before the program text
	loop     string   // the program text, which evaluates what it is sent
	install  string   // what a user does who has none
}

// An interpreter is a process that evaluates code. Requests go to its descriptor 3;
// all it writes comes back through one pipe, with a mark after each evaluation.
type interpreter struct {
	proc     shellrun.Process
	requests *os.File
	gone     chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	current *evaluation // nil between evaluations
	late    []byte      // what was written between evaluations, the last of it
}

// An evaluation is one piece of code that is evaluated.
type evaluation struct {
	id     string
	output *shellrun.Output
	state  string        // ok, error or interrupted; set before done is closed
	done   chan struct{} // closed when its mark came
}

// maxLate is how much is held of what is written between evaluations.
const maxLate = 8 << 10

// start starts the interpreter of a language in dir, confined to box.
func (l language) start(ctx context.Context, host *shellrun.Host, dir string, box *sandbox.Spec) (*interpreter, error) {
	path, err := host.Find(ctx, l.programs...)
	if err != nil {
		return nil, err
	}
	requestsRead, requests, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for %s: %w", l.title, err)
	}
	defer requestsRead.Close()
	read, write, err := os.Pipe()
	if err != nil {
		requests.Close()
		return nil, fmt.Errorf("make a pipe for %s: %w", l.title, err)
	}
	defer write.Close()
	// The requests move to a descriptor that the code does not take for its input.
	args := append([]string{"sh", "-c", `exec "$@" 3<&0 0</dev/null`, "sh", path}, l.args...)
	proc, err := host.Start(ctx, shellrun.Command{
		Path: "/bin/sh", Args: append(args, l.loop), Dir: dir, Input: requestsRead, Output: write, Box: box,
		Env: []string{"PYTHONIOENCODING=utf-8"},
	})
	if err != nil {
		requests.Close()
		read.Close()
		return nil, err
	}
	p := &interpreter{proc: proc, requests: requests, gone: make(chan struct{})}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.listen(read)
	}()
	go func() {
		<-proc.Done()
		_ = read.SetReadDeadline(time.Now().Add(drain)) // another process may hold the other end
		<-heard
		read.Close()
		requests.Close()
		close(p.gone)
	}()
	return p, nil
}

// notStarted says why there is no interpreter, and what to do about it.
func (l language) notStarted(err error) error {
	switch {
	case errors.Is(err, shellrun.ErrNotFound):
		return tool.Errorf("%s is not installed: %s was not found in PATH. The user can install it %s.", l.title, strings.Join(l.programs, " or "), l.install)
	case errors.Is(err, context.Canceled):
		return err
	}
	return tool.Errorf("Could not start %s: %w.", l.title, err)
}

// drain is how long the last output of an ended process is read.
const drain = 200 * time.Millisecond

// listen reads all that the process writes.
func (p *interpreter) listen(from *os.File) {
	buffer := make([]byte, 64<<10)
	var rest []byte // what may be the beginning of a mark
	for {
		n, err := from.Read(buffer)
		rest = p.take(append(rest, buffer[:n]...))
		if err != nil {
			p.write(rest)
			return
		}
	}
}

// take hands on what was written, up to what may be the beginning of a mark.
func (p *interpreter) take(data []byte) (rest []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		p.writeLocked(data)
		return nil
	}
	mark := []byte("\x00" + p.current.id + " ")
	i := bytes.Index(data, mark)
	if i < 0 {
		keep := beginning(data, mark)
		p.writeLocked(data[:len(data)-keep])
		return bytes.Clone(data[len(data)-keep:])
	}
	state, after, whole := bytes.Cut(data[i+len(mark):], []byte{0})
	if !whole {
		p.writeLocked(data[:i])
		return bytes.Clone(data[i:])
	}
	p.writeLocked(data[:i])
	p.current.state = string(state)
	close(p.current.done)
	p.current = nil
	p.writeLocked(after)
	return nil
}

// beginning returns how many bytes at the end of data may begin mark.
func beginning(data, mark []byte) int {
	for n := min(len(mark)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, mark[:n]) {
			return n
		}
	}
	return 0
}

func (p *interpreter) write(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeLocked(data)
}

func (p *interpreter) writeLocked(data []byte) {
	if p.current != nil {
		_, _ = p.current.output.Write(data)
		return
	}
	p.late = append(p.late, data...)
	if over := len(p.late) - maxLate; over > 0 {
		p.late = append(p.late[:0], p.late[over:]...)
	}
}

// begin sends code to be evaluated, with its output going to output, which gets
// first what was written since the evaluation before.
func (p *interpreter) begin(code string, output *shellrun.Output) (*evaluation, error) {
	e := &evaluation{id: rand.Text(), output: output, done: make(chan struct{})}
	p.mu.Lock()
	_, _ = output.Write(p.late)
	p.late, p.current = nil, e
	p.mu.Unlock()
	return e, p.send(map[string]string{"id": e.id, "code": strings.ToValidUTF8(code, "\uFFFD")})
}

// interrupt asks an evaluation to stop.
func (p *interpreter) interrupt(e *evaluation) error {
	return p.send(map[string]string{"interrupt": e.id})
}

// send writes a request. A process that does not read, because it was stopped, must
// not block the caller forever.
func (p *interpreter) send(request map[string]string) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_ = p.requests.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, err = p.requests.Write(append(line, '\n'))
	return err
}

// end ends the process with everything it started, and waits for it.
func (p *interpreter) end() {
	p.proc.End(500 * time.Millisecond)
	<-p.gone
}

// over reports whether the process is gone.
func (p *interpreter) over() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}
