package haft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/wire"
)

// Remote returns a transport that runs conversations on a server, 'haft serve', instead of in
// a child process. The URL is the one that the server prints, up to the #; the token is in the
// file that 'haft serve --json' names. The server has to prove that it knows the token before
// anything is sent to it, and the token itself is never sent.
//
//	opts := &haft.Options{Transport: haft.Remote("http://127.0.0.1:7420", token), Dir: "/project"}
//
// Options.Dir is a folder of the server and must be set. The environment is the server's, and so
// are settings, plugins and MCP servers: options that would add some are refused. Everything
// else is as with a child process: hooks, permission callbacks and tools run in this program.
func Remote(url, token string) Transport {
	url, _, _ = strings.Cut(url, "#") // a code for browsers
	return &serverTransport{strings.TrimRight(url, "/"), &http.Client{
		Transport:     &handshake.Transport{Token: token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type serverTransport struct {
	url    string
	client *http.Client
}

// Start begins a conversation.
func (r *serverTransport) Start(ctx context.Context, l *Launch) (Link, error) {
	if l.Dir == "" {
		return nil, errors.New("start a conversation on a server: set Options.Dir to a folder on the server")
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	request, err := http.NewRequestWithContext(ending, http.MethodGet, r.url+"/v1/wire", nil)
	if err != nil {
		end()
		return nil, fmt.Errorf("start a conversation on a server: %w", err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "haft-wire")
	stop := context.AfterFunc(ctx, end) // the context is only for starting
	resp, err := r.client.Do(request)
	if !stop() && err == nil {
		resp.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("start a conversation on a server: %w", err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer end()
		defer resp.Body.Close()
		return nil, fmt.Errorf("start a conversation on a server: %s", refusal(resp))
	}
	link := &remoteLink{Stream: wire.Lines(wire.NewReader(linelimit.Reader(conn)), wire.NewWriter(conn)), conn: conn, stderr: l.Stderr, ended: make(chan struct{}), end: end}
	first, err := json.Marshal(map[string]any{"type": "haft_launch", "args": l.Args, "dir": l.Dir})
	if err == nil {
		err = link.Stream.Write(&wire.Unknown{Type: "haft_launch", Line: first})
	}
	if err != nil {
		link.Close()
		return nil, fmt.Errorf("start a conversation on a server: %w", err)
	}
	return link, nil
}

// refusal is why a server does not want to.
func refusal(resp *http.Response) string {
	var p struct{ Message string }
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p) != nil || p.Message == "" {
		return resp.Status
	}
	return p.Message
}

// A remoteLink is a conversation on a server.
type remoteLink struct {
	wire.Stream
	conn   io.ReadWriteCloser
	stderr func(string)
	tail   tail
	end    context.CancelFunc

	once   sync.Once
	ended  chan struct{} // closed when the server has sent its last message
	status error         // set before
	said   sync.Once     // that no more is written
}

// Read returns the next message of the server. Messages about the process, such as its
// diagnostics and its end, are not returned.
func (l *remoteLink) Read() (wire.Message, error) {
	for {
		m, err := l.Stream.Read()
		var line *wire.LineError
		if err != nil && !errors.As(err, &line) {
			status := "a lost connection to the server"
			if errors.Is(err, linelimit.ErrLong) {
				status += ": " + err.Error()
			}
			l.finish(&ExitError{Code: -1, Status: status, Stderr: l.tail.String()})
			return nil, io.EOF
		}
		u, ok := m.(*wire.Unknown)
		if !ok || u.Type != "haft_stderr" && u.Type != "haft_exit" {
			return m, err
		}
		var about struct {
			Line string `json:"line"`
			Code int    `json:"code"`
		}
		_ = json.Unmarshal(u.Line, &about) // what is missing is empty
		if u.Type == "haft_exit" {
			var status error
			if about.Code != 0 {
				status = &ExitError{Code: about.Code, Status: fmt.Sprintf("exit status %d", about.Code), Stderr: l.tail.String()}
			}
			l.finish(status)
			return nil, io.EOF
		}
		l.tail.add(about.Line + "\n")
		if l.stderr != nil {
			l.stderr(about.Line)
		}
	}
}

func (l *remoteLink) finish(status error) {
	l.once.Do(func() {
		l.status = status
		close(l.ended)
	})
}

// CloseWrite tells the server that no more messages will come.
func (l *remoteLink) CloseWrite() (err error) {
	l.said.Do(func() {
		err = l.Stream.Write(&wire.Unknown{Type: "haft_end", Line: json.RawMessage(`{"type":"haft_end"}`)})
	})
	return err
}

// Wait waits until the conversation has ended by itself.
func (l *remoteLink) Wait() error {
	<-l.ended
	l.end()
	return l.status
}

// Close ends the conversation: the server ends what it has started.
func (l *remoteLink) Close() error {
	err := l.conn.Close()
	l.end()
	l.finish(nil)
	return err
}
