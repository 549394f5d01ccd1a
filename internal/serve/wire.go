package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/wire"
)

// A launching is the first line of a program that leads a conversation here: what it
// would give to a child process.
type launching struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
}

// speak leads a conversation with a program over the connection of its request, which
// becomes one of lines both ways: the messages of package wire, as over a pipe. Browsers
// cannot ask for that.
func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "haft-wire") {
		refuse(w, &Problem{status: http.StatusUpgradeRequired, Code: "no_upgrade", Message: "This is for haft.Remote of the Go SDK. Send Upgrade: haft-wire."})
		return
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		refuse(w, errEnded)
		return
	}
	s.leading.Add(1)
	s.mu.Unlock()
	defer s.leading.Done()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, problem(err))
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: haft-wire\r\n\r\n"); err != nil {
		return
	}
	p := &program{Stream: wire.Lines(wire.NewReader(bufio.NewReader(buffered)), wire.NewWriter(conn))}
	ctx, cancel := context.WithCancel(s.context)
	defer cancel()
	defer context.AfterFunc(s.context, func() { _ = conn.SetReadDeadline(time.Now()) })()
	code := 2
	if opts, err := s.launch(p); err != nil {
		p.Write(logLine(err.Error()))
	} else {
		code = headless.Serve(ctx, p, opts)
	}
	_ = p.Write(&wire.Unknown{Type: "haft_exit", Line: json.RawMessage(fmt.Sprintf(`{"type":"haft_exit","code":%d}`, code))}) // it may be gone
}

// launch reads what the program wants.
func (s *Server) launch(p *program) (*headless.Options, error) {
	m, err := p.Stream.Read()
	u, ok := m.(*wire.Unknown)
	var l launching
	if err != nil || !ok || u.Type != "haft_launch" || json.Unmarshal(u.Line, &l) != nil {
		return nil, fmt.Errorf("the first line must be a haft_launch")
	}
	if info, err := os.Stat(l.Dir); !filepath.IsAbs(l.Dir) || err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%q is not a folder of the server", l.Dir)
	}
	log := &stderr{program: p}
	opts, err := launch.Parse(l.Args, s.opts.Version, log)
	if err != nil {
		return nil, err
	}
	if opts.Harness.Mode == string(permission.Bypass) || opts.Harness.MayBypass {
		return nil, fmt.Errorf("permissions can only be turned off in a terminal")
	}
	opts.Log, opts.Harness.Dir, opts.Harness.Reexec, opts.States = log, l.Dir, s.opts.Harness.Reexec, true
	opts.Talk.Watch, opts.Talk.Client, opts.Talk.Sessions = s.opts.Talk.Watch, s.opts.Talk.Client, s.opts.Talk.Sessions
	return opts, nil
}

// A program is the one at the other end.
type program struct{ wire.Stream }

// Read returns what the program says until it has no more to say.
func (p *program) Read() (wire.Message, error) {
	m, err := p.Stream.Read()
	if u, ok := m.(*wire.Unknown); ok && u.Type == "haft_end" {
		return nil, io.EOF
	}
	return m, err
}

// stderr sends diagnostics line by line.
type stderr struct {
	program *program
	mu      sync.Mutex
	part    []byte
}

func (s *stderr) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, text...)
	for {
		line, rest, whole := bytes.Cut(s.part, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		_ = s.program.Write(logLine(string(line))) // it may be gone
		s.part = rest
	}
}

func logLine(text string) wire.Message {
	raw, err := json.Marshal(map[string]string{"type": "haft_stderr", "line": text})
	if err != nil {
		raw = json.RawMessage(`{"type":"haft_stderr"}`) // strings can be encoded
	}
	return &wire.Unknown{Type: "haft_stderr", Line: raw}
}
