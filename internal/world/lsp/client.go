package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Diagnostics returns what the server finds wrong with a file as it is now. The server
// has until limit to say so; whole reports whether it has.
func (c *Client) Diagnostics(ctx context.Context, path string, limit time.Duration) (list []Diagnostic, whole bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %v", limit))
	defer cancel()
	c.refresh()
	doc, err := c.show(path)
	if err != nil {
		return nil, false, err
	}
	if c.pulls {
		var answer struct {
			Items []Diagnostic `json:"items"`
		}
		if err := c.call(ctx, "textDocument/diagnostic", about(path, nil), &answer); err != nil {
			return nil, false, err
		}
		list = bounded(answer.Items)
		if r, _ := c.found.about(path); r.current(doc) {
			list = append(list, slices.DeleteFunc(slices.Clone(r.list), func(d Diagnostic) bool {
				return slices.ContainsFunc(list, func(o Diagnostic) bool { return o.Message == d.Message && o.Range == d.Range })
			})...)
		}
		return list, true, nil
	}
	return c.awaitReport(ctx, path, doc)
}

// awaitReport waits for the report of a server that is not asked for it.
func (c *Client) awaitReport(ctx context.Context, path string, doc document) (list []Diagnostic, whole bool, err error) {
	for {
		r, next := c.found.about(path)
		var pause <-chan time.Time
		if whole = r.current(doc); whole {
			list, pause = r.list, time.After(quiet-time.Since(r.at))
		}
		select {
		case <-next:
		case <-pause:
			return list, true, nil
		case <-c.conn.closed:
			return nil, false, c.explain(ctx, c.conn.reason())
		case <-ctx.Done():
			if err := context.Cause(ctx); err == context.Canceled {
				return nil, false, err
			}
			return list, whole, nil
		}
	}
}

// show sends a file as it is now, unless the server has it, and returns its text.
func (c *Client) show(path string) (doc document, err error) {
	c.docs.mu.Lock()
	defer c.docs.mu.Unlock()
	return c.showLocked(path)
}

func (c *Client) showLocked(path string) (document, error) {
	language, _ := c.def.language(path)
	info, err := os.Stat(path)
	if err != nil {
		return document{}, err
	}
	known := c.docs.open[path]
	if known != nil {
		known.used = time.Now()
		if known.stamp == stampOf(info) {
			return *known, nil
		}
	}
	text, err := readText(path, info)
	if err != nil {
		return document{}, err
	}
	if known != nil && known.text == text {
		known.stamp = stampOf(info)
		return *known, nil
	}
	doc := document{version: 1, text: text, stamp: stampOf(info), sent: c.found.count(), used: time.Now()}
	if known == nil {
		c.makeRoomLocked()
		err = c.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": URI(path), "languageId": language, "version": doc.version, "text": text,
		}})
	} else {
		doc.version = known.version + 1
		id := map[string]any{"uri": URI(path), "version": doc.version}
		err = errors.Join(
			c.conn.notify("textDocument/didChange", map[string]any{"textDocument": id, "contentChanges": []any{map[string]string{"text": text}}}),
			c.conn.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": URI(path)}}))
	}
	if err != nil {
		return document{}, err
	}
	if c.docs.open == nil {
		c.docs.open = make(map[string]*document)
	}
	c.docs.open[path] = &doc
	return doc, nil
}

// makeRoomLocked closes the file that was not used for longest, if there are many.
func (c *Client) makeRoomLocked() {
	if len(c.docs.open) < maxDocuments {
		return
	}
	var oldest string
	for path, d := range c.docs.open {
		if oldest == "" || d.used.Before(c.docs.open[oldest].used) {
			oldest = path
		}
	}
	c.closeLocked(oldest)
}

func (c *Client) closeLocked(path string) {
	delete(c.docs.open, path)
	_ = c.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": URI(path)}})
}

// refresh sends what has changed on the disk since the server was last told.
func (c *Client) refresh() {
	c.docs.mu.Lock()
	defer c.docs.mu.Unlock()
	for path := range c.docs.open {
		if _, err := c.showLocked(path); err != nil {
			c.closeLocked(path)
		}
	}
	if changes := c.watch.changes(c); len(changes) > 0 {
		_ = c.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
	}
}

// ask asks about a file as it is now.
func (c *Client) ask(ctx context.Context, path, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxAnswer, fmt.Errorf("it did not answer within %v", maxAnswer))
	defer cancel()
	c.refresh()
	if path != "" {
		if _, err := c.show(path); err != nil {
			return err
		}
	}
	c.settled.Do(func() { c.busy.idle(ctx, c.conn.closed) })
	return c.call(ctx, method, params, result)
}

// call asks again while the server says that what it looked at has changed meanwhile.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	for try := 0; ; try++ {
		err := c.conn.call(ctx, method, params, result)
		var refused *refusal
		if err == nil || !errors.As(err, &refused) || refused.Code != codeContentModified || try == 10 {
			if err != nil && refused == nil {
				err = c.explain(ctx, err)
			}
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Text is the text of a file as the server was last sent it.
func (c *Client) Text(path string) (string, error) {
	doc, err := c.show(path)
	return doc.text, err
}

// Definition returns where the name at a place is defined.
func (c *Client) Definition(ctx context.Context, path string, at Position) ([]Location, error) {
	var found locations
	err := c.ask(ctx, path, "textDocument/definition", about(path, &at), &found)
	return found, err
}

// Implementation returns what implements the interface or method at a place.
func (c *Client) Implementation(ctx context.Context, path string, at Position) ([]Location, error) {
	var found locations
	err := c.ask(ctx, path, "textDocument/implementation", about(path, &at), &found)
	return found, err
}

// References returns where the name at a place is used, its declaration included.
func (c *Client) References(ctx context.Context, path string, at Position) ([]Location, error) {
	params := about(path, &at)
	params["context"] = map[string]bool{"includeDeclaration": true}
	var found locations
	err := c.ask(ctx, path, "textDocument/references", params, &found)
	return found, err
}

// Hover returns what the server says about the name at a place, as Markdown.
func (c *Client) Hover(ctx context.Context, path string, at Position) (string, error) {
	var found struct {
		Contents json.RawMessage `json:"contents"`
	}
	err := c.ask(ctx, path, "textDocument/hover", about(path, &at), &found)
	return hoverText(found.Contents), err
}

// Symbols returns what a file declares.
func (c *Client) Symbols(ctx context.Context, path string) (found []Symbol, err error) {
	err = c.ask(ctx, path, "textDocument/documentSymbol", about(path, nil), &found)
	return found, err
}

// Find returns what the project declares with names like the query. The server learns
// of the project by a file of it.
func (c *Client) Find(ctx context.Context, path, query string) (found []Symbol, err error) {
	err = c.ask(ctx, path, "workspace/symbol", map[string]string{"query": query}, &found)
	return found, err
}

// Functions returns the functions that the name at a place stands for.
func (c *Client) Functions(ctx context.Context, path string, at Position) (found []CallItem, err error) {
	err = c.ask(ctx, path, "textDocument/prepareCallHierarchy", about(path, &at), &found)
	return found, err
}

// Callers returns what calls a function, and Callees what it calls.
func (c *Client) Callers(ctx context.Context, f CallItem) (found []FunctionCall, err error) {
	err = c.ask(ctx, "", "callHierarchy/incomingCalls", map[string]any{"item": f}, &found)
	return found, err
}

// Callees returns what a function calls.
func (c *Client) Callees(ctx context.Context, f CallItem) (found []FunctionCall, err error) {
	err = c.ask(ctx, "", "callHierarchy/outgoingCalls", map[string]any{"item": f}, &found)
	return found, err
}

// watches reports whether a server of the client's kind cares for a file.
func (c *Client) watches(path string) bool {
	if _, ok := c.def.language(path); ok {
		return true
	}
	switch filepath.Base(path) {
	case "go.sum", "package.json", "tsconfig.json", "jsconfig.json", "pyproject.toml", "pyrightconfig.json", "Cargo.toml", "Cargo.lock", "compile_commands.json", "compile_flags.txt":
		return true
	}
	return false
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
