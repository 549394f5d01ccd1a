package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// A Client is a server that runs.
type Client struct {
	def  *Definition
	root string
	conn *conn
	proc shellrun.Process
	errs *tail

	pulls   bool // it answers when it is asked for diagnostics
	settled sync.Once

	docs  documents
	watch watch
	found findings
	busy  activity
}

// patience is how long a server may take to read a message.
const patience = 10 * time.Second

// drain is how long the last words of an ended server are read.
const drain = 200 * time.Millisecond

// start starts a server for the files below root.
func start(ctx context.Context, host *shellrun.Host, def *Definition, root string, box *sandbox.Spec) (*Client, error) {
	path, err := host.Find(ctx, def.Programs...)
	if err != nil {
		return nil, err
	}
	var ends [6]*os.File // of three pipes
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			closeAll(ends[:]...)
			return nil, err
		}
	}
	inRead, inWrite, outRead, outWrite, errRead, errWrite := ends[0], ends[1], ends[2], ends[3], ends[4], ends[5]
	proc, err := host.Start(ctx, shellrun.Command{
		Path: path, Args: append([]string{path}, def.Args...), Dir: root, Env: def.Env, Input: inRead, Output: outWrite, Errors: errWrite, Box: box,
	})
	closeAll(inRead, outWrite, errWrite)
	if err != nil {
		closeAll(inWrite, outRead, errRead)
		return nil, err
	}
	c := &Client{def: def, root: root, proc: proc, errs: newTail(errRead)}
	c.watch.changes(c) // what changes from here on, the server is told
	c.conn = newConn(inWrite, outRead, patience, c.handle)
	go func() {
		select {
		case <-proc.Done():
		case <-c.conn.closed: // it breaks the protocol, and nothing useful can follow
			c.end()
			<-proc.Done()
		}
		c.conn.close(errEnded)
		_ = errRead.SetReadDeadline(time.Now().Add(drain)) // another process may hold the other end
		<-c.errs.done
		closeAll(outRead, errRead)
	}()
	limit := def.Startup
	if limit <= 0 {
		limit = 45 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %v", limit))
	defer cancel()
	if err := c.initialize(ctx); err != nil {
		c.end()
		<-c.errs.done
		return nil, c.explain(ctx, err)
	}
	return c, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// explain says with an error what the server said when it ended.
func (c *Client) explain(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, errEnded) {
		select {
		case <-c.errs.done:
		case <-time.After(time.Second):
		}
	}
	if last := c.errs.text(); last != "" && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; its last output was: %s", err, last)
	}
	return err
}

func (c *Client) initialize(ctx context.Context) error {
	folder := map[string]string{"uri": URI(c.root), "name": "project"}
	var answer struct {
		Capabilities struct {
			Diagnostics json.RawMessage `json:"diagnosticProvider"`
		} `json:"capabilities"`
	}
	err := c.conn.call(ctx, "initialize", map[string]any{
		"processId": nil, "clientInfo": map[string]string{"name": "haft"},
		"rootUri": URI(c.root), "rootPath": c.root, "workspaceFolders": []any{folder},
		"initializationOptions": c.def.Options, "capabilities": capabilities(),
	}, &answer)
	if err != nil {
		return err
	}
	provider := string(answer.Capabilities.Diagnostics)
	c.pulls = provider != "" && provider != "null" && provider != "false"
	if err := c.conn.notify("initialized", struct{}{}); err != nil {
		return err
	}
	if len(c.def.Settings) == 0 {
		return nil
	}
	return c.conn.notify("workspace/didChangeConfiguration", map[string]any{"settings": c.def.Settings})
}

// capabilities are what this client understands.
func capabilities() any {
	type m = map[string]any
	link := m{"linkSupport": true}
	return m{
		"general": m{"positionEncodings": []string{"utf-16"}},
		"window":  m{"workDoneProgress": true},
		"workspace": m{
			"configuration": true, "workspaceFolders": true, "didChangeWatchedFiles": m{"dynamicRegistration": true}, "symbol": m{},
		},
		"textDocument": m{
			"synchronization": m{"didSave": true}, "publishDiagnostics": m{"versionSupport": true}, "diagnostic": m{},
			"definition": link, "implementation": link, "references": m{}, "callHierarchy": m{},
			"hover":          m{"contentFormat": []string{"markdown", "plaintext"}},
			"documentSymbol": m{"hierarchicalDocumentSymbolSupport": true},
		},
	}
}

// handle answers the server.
func (c *Client) handle(method string, params json.RawMessage) (any, error) {
	switch method {
	case "textDocument/publishDiagnostics":
		c.found.published(params)
	case "$/progress":
		c.busy.progress(params)
	case "workspace/configuration":
		return c.configuration(params), nil
	case "workspace/workspaceFolders":
		return []any{map[string]string{"uri": URI(c.root), "name": "project"}}, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "edits are not applied"}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest":
		return nil, nil
	case "workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
		return nil, nil
	default:
		return nil, errors.New("not supported")
	}
	return nil, nil
}

// configuration is what the settings say about each section that the server asks for.
func (c *Client) configuration(params json.RawMessage) []any {
	var asked struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if json.Unmarshal(params, &asked) != nil || len(asked.Items) > 1000 {
		return []any{}
	}
	answers := make([]any, len(asked.Items))
	for i, item := range asked.Items {
		if section := member(c.def.Settings, item.Section); section != nil {
			answers[i] = section
		} else if item.Section == c.def.Name && len(c.def.Options) > 0 {
			answers[i] = c.def.Options // gopls wants its options again
		}
	}
	return answers
}

// member is the value at a dotted path of an object; nil if there is none.
func member(object json.RawMessage, path string) json.RawMessage {
	for path != "" && object != nil {
		var members map[string]json.RawMessage
		if json.Unmarshal(object, &members) != nil {
			return nil
		}
		if whole, ok := members[path]; ok {
			return whole
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		object = members[name]
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

// Name is what the server is called.
func (c *Client) Name() string { return c.def.Name }

// end ends the server; Ended tells when it is over.
func (c *Client) end() { c.proc.End(500 * time.Millisecond) }

// Ended reports whether the server is gone, or is of no use any more.
func (c *Client) Ended() bool {
	select {
	case <-c.conn.closed:
		return true
	default:
		return false
	}
}

// A tail holds the last of what a server writes to its standard error.
type tail struct {
	done chan struct{} // closed when nothing more comes
	mu   sync.Mutex
	last []byte
}

const maxTail = 1 << 10

func newTail(from *os.File) *tail {
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		buffer := make([]byte, 4<<10)
		for {
			n, err := from.Read(buffer)
			t.mu.Lock()
			t.last = append(t.last, buffer[:n]...)
			if over := len(t.last) - maxTail; over > 0 {
				t.last = append(t.last[:0], t.last[over:]...)
			}
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(shellrun.Clean(strings.ToValidUTF8(string(t.last), "\uFFFD")))
}
