package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/wire"
)

// speak leads a conversation with a program over the connection of its request, which
// becomes one of lines both ways: the messages of package wire, as over a pipe. Browsers
// cannot ask for that.
func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "haft-wire") {
		refuse(w, &Problem{status: http.StatusUpgradeRequired, Code: "no_upgrade", Message: "This endpoint is for haft.Remote in the Go SDK. Send Upgrade: haft-wire."})
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
	ctx, cancel := context.WithCancel(s.context)
	defer cancel()
	defer context.AfterFunc(s.context, func() {
		_ = conn.SetReadDeadline(time.Now())
		_ = conn.SetWriteDeadline(time.Now().Add(endTime)) // a program that does not read holds up no end
	})()
	both := struct {
		io.Reader
		io.Writer
	}{buffered.Reader, conn}
	l, err := readLaunching(buffered.Reader)
	if err != nil {
		Lead(ctx, both, func(io.Writer) (*headless.Options, error) { return nil, err })
		return
	}
	s.back.Speak(ctx, l, both)
}

// maxLaunch is how long the first line of a program may be.
const maxLaunch = 16 << 20

// readLaunching reads what the program wants.
func readLaunching(in *bufio.Reader) (*Launching, error) {
	var line []byte
	for {
		part, more, err := in.ReadLine()
		line = append(line, part...)
		if err != nil || len(line) > maxLaunch {
			return nil, errNoLaunch
		}
		if !more {
			break
		}
	}
	var l struct {
		Type string `json:"type"`
		Launching
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "haft_launch" {
		return nil, errNoLaunch
	}
	if !filepath.IsAbs(l.Dir) {
		return nil, fmt.Errorf("%q is not the full path of a folder on the server", l.Dir)
	}
	return &l.Launching, nil
}

var errNoLaunch = errors.New("the first line must be a haft_launch message")

// Lead leads a conversation with a program at the other end of a connection, which has
// sent what it wants: prepare says what that is. Log becomes the diagnostics of the
// program.
func Lead(ctx context.Context, conn io.ReadWriter, prepare func(log io.Writer) (*headless.Options, error)) {
	p := &program{Stream: wire.Lines(wire.NewReader(conn), wire.NewWriter(conn))}
	code, log := 2, &stderr{program: p}
	if opts, err := prepare(log); err != nil {
		_ = p.Write(logLine(err.Error())) // it may be gone
	} else {
		opts.Log = log
		code = headless.Serve(ctx, p, opts)
	}
	_ = p.Write(&wire.Unknown{Type: "haft_exit", Line: json.RawMessage(fmt.Sprintf(`{"type":"haft_exit","code":%d}`, code))}) // it may be gone
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
