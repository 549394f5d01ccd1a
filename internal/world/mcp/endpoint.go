package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/mcp/httpgate"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// An endpoint is a server as it is configured, connected or not.
type endpoint struct {
	host   *Host
	name   string
	key    string // stands for the server in its tools' names
	cfg    Server
	ctx    context.Context
	cancel context.CancelFunc
}

func (p *endpoint) startTimeout() time.Duration {
	if p.cfg.StartTimeout > 0 {
		return time.Duration(p.cfg.StartTimeout)
	}
	return p.host.opts.StartTimeout
}

// limit bounds a call: as a whole, and in its silence. What it returns is
// called on every sign of life.
func (p *endpoint) limit(ctx context.Context) (context.Context, func(), func()) {
	opts := &p.host.opts
	wall, idle := opts.CallTimeout, opts.IdleTimeout
	if p.cfg.CallTimeout > 0 {
		wall = time.Duration(p.cfg.CallTimeout)
	}
	if idle == 0 {
		idle = 5 * time.Minute
		if p.cfg.kind() == Stdio {
			idle = 30 * time.Minute
		}
	}
	if p.cfg.IdleTimeout > 0 {
		idle = time.Duration(p.cfg.IdleTimeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	whole := time.AfterFunc(wall, func() {
		cancel(&timeoutError{fmt.Sprintf("no result within %s", wall)})
	})
	silence := time.AfterFunc(idle, func() {
		cancel(&timeoutError{fmt.Sprintf("no result and no progress for %s", idle)})
	})
	return ctx, func() { silence.Reset(idle) }, func() {
		whole.Stop()
		silence.Stop()
		cancel(nil)
	}
}

// explain makes an error for the model of a failed call. A cancelled call stays
// what it is.
func (p *endpoint) explain(ctx context.Context, o *offer, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var lost *lostError
	var late *timeoutError
	var rpc *jsonrpc.Error
	var ours *tool.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &lost):
		return tool.Errorf("MCP server %s ended during the call to %s: %w. It is unknown whether the call took effect; check before you repeat it.", p.name, o.Name, lost)
	case errors.As(err, &late):
		return tool.Errorf("The call to %s at the MCP server %s was cancelled: %w. It may have taken partial effect.", o.Name, p.name, late)
	case errors.As(err, &rpc) && rpc.Code != codeRejected:
		return tool.Errorf("MCP error %d: %s", rpc.Code, rpc.Message)
	}
	return tool.Errorf("MCP server %s: %s: %w", p.name, o.Name, err)
}

// offer makes offers of the entries of a tool list. An entry that cannot be
// offered costs the others nothing.
func (p *endpoint) offer(entries []json.RawMessage) (offers []*offer, left []ToolStatus) {
	var names []string
	taken := make(map[string]bool, len(entries))
	for _, entry := range entries {
		o, err := p.newOffer(entry)
		if err == nil && taken[o.Name] {
			err = errors.New("the server lists another tool with this name")
		}
		if err != nil {
			name, _ := clean(o.Name)
			left = append(left, ToolStatus{Name: name, Disabled: err.Error()})
			continue
		}
		names, taken[o.Name] = append(names, o.Name), true
		offers = append(offers, o)
	}
	slices.SortFunc(offers, func(a, b *offer) int { return strings.Compare(a.Name, b.Name) })
	offered := offeredNames(p.key, names)
	for _, o := range offers {
		o.name = offered[o.Name]
	}
	slices.SortStableFunc(left, func(a, b ToolStatus) int { return cmp.Compare(a.Name, b.Name) })
	return offers, left
}

func (p *endpoint) newOffer(entry json.RawMessage) (*offer, error) {
	t, err := gate.ReadTool(entry)
	o := &offer{Tool: t, digest: meaning(entry)}
	if err != nil {
		return o, err
	}
	if !p.wants(t.Name) {
		return o, errors.New(Excluded)
	}
	portable, names, err := schema.Portable(t.InputSchema)
	if err != nil {
		return o, fmt.Errorf("inputSchema: %w", err)
	}
	o.names = names
	if o.input, err = schema.Parse(portable); err != nil {
		return o, err
	}
	if len(t.OutputSchema) > 0 && string(t.OutputSchema) != "null" {
		o.output, _ = schema.Parse(t.OutputSchema) // one that is broken describes nothing
	}
	o.description, o.hidden = clean(t.Description)
	if o.description = strings.TrimSpace(o.description); o.description == "" {
		o.description = "The tool " + normal(t.Name) + " of the MCP server " + normal(p.name) + ", which does not describe it."
	}
	o.description = shorten(o.description, maxDescription)
	_, more := clean(t.Name)
	o.hidden = append(o.hidden, more...)
	return o, nil
}

// meaning is the hash of what a JSON text says, however it is spelled: a copy that was
// kept has other spaces and escapes than what the server sent.
func meaning(text json.RawMessage) string {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) == nil {
		if plain, err := json.Marshal(value); err == nil {
			text = plain
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (p *endpoint) wants(name string) bool {
	if slices.Contains(p.cfg.Exclude, name) {
		return false
	}
	return len(p.cfg.Include) == 0 || slices.Contains(p.cfg.Include, name)
}

func (p *endpoint) newGate() *gate.Gate {
	watch := p.host.opts.OnMessage
	if watch == nil {
		return gate.New(nil)
	}
	return gate.New(func(sent bool, message []byte) { watch(p.name, sent, message) })
}

// command finds the program and makes its environment.
func (p *endpoint) command() (shellrun.Command, error) {
	opts := &p.host.opts
	dir := p.cfg.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(opts.Dir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return shellrun.Command{}, fmt.Errorf("the folder %s does not exist", dir)
	}
	if strings.TrimSpace(p.cfg.Command) == "" {
		return shellrun.Command{}, errors.New("the entry has no command")
	}
	env := childEnv(opts.Environ, p.cfg.Env)
	path, err := find(p.cfg.Command, dir, lookup(env, "PATH"))
	if err != nil {
		return shellrun.Command{}, err
	}
	c := shellrun.Command{Path: path, Args: append([]string{p.cfg.Command}, p.cfg.Args...), Env: env, Dir: dir}
	if opts.Box != nil {
		c.Box = opts.Box(p.cfg)
	}
	return c, nil
}

// lookup finds the value of a variable; the last one counts.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// find looks for a program in the server's own PATH.
func find(name, dir, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return exec.LookPath(name)
	}
	for _, in := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(in, name)); err == nil && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("the command %q was not found in PATH", name)
}

func (p *endpoint) newHTTPLink(older bool, patience time.Duration) (*httpLink, *gate.Gate, error) {
	u, err := url.Parse(p.cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, fmt.Errorf("%q is not the URL of a server", p.cfg.URL)
	}
	opts := &p.host.opts
	base := httpgate.Patience(opts.HTTP, patience)
	if opts.Auth != nil {
		if base, err = opts.Auth.Transport(p.cfg, base); err != nil {
			return nil, nil, err
		}
	}
	g := p.newGate()
	t := &httpgate.Transport{
		Base: base, Gate: g, Host: u.Host, Max: opts.MaxMessage, Older: older,
		Headers: p.headers(),
	}
	l := &httpLink{transport: t}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	client := &http.Client{Transport: t, CheckRedirect: sameHost(u.Host)}
	if older {
		l.connect = (&sdk.SSEClientTransport{Endpoint: p.cfg.URL, HTTPClient: client, MaxEventSize: -1}).Connect
	} else {
		l.connect = (&sdk.StreamableClientTransport{Endpoint: p.cfg.URL, HTTPClient: client, MaxEventSize: -1}).Connect
	}
	return l, g, nil
}

// sameHost keeps a server's messages from being sent on to another.
func sameHost(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if !strings.EqualFold(req.URL.Host, host) {
			return fmt.Errorf("the server redirects to %s, which is another host", req.URL.Host)
		}
		if len(via) > 5 {
			return errors.New("the server redirects too often")
		}
		return nil
	}
}

// read makes a result of what the server wrote.
func (p *endpoint) read(o *offer, raw json.RawMessage) (tool.Result, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return tool.Result{}, tool.Errorf("MCP server %s: the result of %s is not an object: %s", p.name, o.Name, shorten(string(raw), 200))
	}
	out := Output{Structured: envelope.Field(raw, "structuredContent"), Meta: envelope.Field(raw, "_meta")}
	if string(out.Structured) == "null" {
		out.Structured = nil
	}
	var r tool.Result
	for element := range envelope.Elements(envelope.Field(raw, "content")) {
		out.Content = append(out.Content, element)
		r.Content = append(r.Content, convert(element)...)
	}
	r.Failed = string(envelope.Field(raw, "isError")) == "true"
	r.Output = out
	if out.Structured != nil && !r.Failed {
		p.checkOutput(o, out.Structured)
	}
	if out.Structured != nil && !repeats(out.Structured, out.Content, r.Content) {
		r.Content = append(r.Content, tool.Block{Type: tool.TextBlock, Text: withoutData(out.Structured, out.Content)})
	}
	if len(r.Content) == 0 {
		r.Content = tool.Text("(" + o.Name + " completed with no output)").Content
	}
	return r, nil
}

// repeats reports whether the content says the same as the structured content, or as the
// one thing that is wrapped in it: in a text, or as the list that it is.
func repeats(structured json.RawMessage, raw []json.RawMessage, content []tool.Block) bool {
	var whole any
	if json.Unmarshal(structured, &whole) != nil {
		return false
	}
	said := []any{whole}
	if object, ok := whole.(map[string]any); ok && len(object) == 1 {
		for _, only := range object {
			said = append(said, only)
		}
	}
	var list any
	if text, err := json.Marshal(raw); err == nil && json.Unmarshal(text, &list) == nil && slices.ContainsFunc(said, func(v any) bool { return reflect.DeepEqual(v, list) }) {
		return true
	}
	for _, b := range content {
		if b.Type != tool.TextBlock {
			continue
		}
		var parsed any
		isJSON := json.Unmarshal([]byte(b.Text), &parsed) == nil
		for _, v := range said {
			text, isText := v.(string)
			if isJSON && reflect.DeepEqual(v, parsed) || isText && strings.TrimSpace(text) == strings.TrimSpace(b.Text) {
				return true
			}
		}
	}
	return false
}

// withoutData is structured content as a text, without the bytes of images and other files
// that are in the content already.
func withoutData(structured json.RawMessage, content []json.RawMessage) string {
	text := string(structured)
	for _, element := range content {
		var b block
		if json.Unmarshal(element, &b) != nil {
			continue
		}
		data := b.Data
		if b.Resource != nil {
			data = first(data, b.Resource.Blob)
		}
		if len(data) > 100 { // less may occur by chance, and does no harm
			text = strings.ReplaceAll(text, `"`+data+`"`, fmt.Sprintf("\"(the %d bytes of the %s above)\"", base64.StdEncoding.DecodedLen(len(data)), b.Type))
		}
	}
	return text
}

// convert makes of a content block what a model can read.
func convert(raw json.RawMessage) []tool.Block {
	if text, ok := plainText(raw); ok {
		return tool.Text(text).Content
	}
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		return note("a content block that cannot be read: %s", shorten(string(raw), 100))
	}
	switch b.Type {
	case "text":
		return tool.Text(b.Text).Content
	case "image":
		return decoded(b.Data, b.Type, func(data []byte) []tool.Block { return media(data, b.MIMEType, b.Type) })
	case "audio":
		return decoded(b.Data, b.Type, func(data []byte) []tool.Block { return file(data, kindOf(data, b.MIMEType), b.Type) })
	case "resource":
		if b.Resource != nil {
			return b.Resource.blocks()
		}
	case "resource_link":
		return note("resource %s%s%s%s", b.URI, named(" ", first(b.Title, b.Name)), named(", ", b.MIMEType), named(": ", b.Description))
	}
	return note("content of the unknown type %q, %d bytes", b.Type, len(raw))
}

// checkOutput warns of structured content that is not what was announced.
func (p *endpoint) checkOutput(o *offer, structured json.RawMessage) {
	if o.output == nil {
		return
	}
	if _, _, err := o.output.View(nil).Check(structured); err != nil {
		p.host.opts.Log.Warn("mcp: structured content does not match the tool's outputSchema", "server", p.name, "tool", o.Name, "problem", err)
	}
}

// headers returns the function that says which headers a server's requests get:
// the configured ones and those that its helper prints. The helper runs once,
// and again when the server refuses what it printed.
func (p *endpoint) headers() func(ctx context.Context, again bool) (map[string]string, error) {
	cfg := p.cfg
	if cfg.HeadersHelper == "" {
		return func(context.Context, bool) (map[string]string, error) { return cfg.Headers, nil }
	}
	var mu sync.Mutex
	var known map[string]string
	return func(ctx context.Context, again bool) (map[string]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if known != nil && !again {
			return known, nil
		}
		printed, err := p.runHelper(ctx)
		if err != nil {
			return nil, err
		}
		known = maps.Clone(cfg.Headers)
		if known == nil {
			known = make(map[string]string)
		}
		maps.Copy(known, printed)
		return known, nil
	}
}

// runHelper runs the command that prints headers as a JSON object. It gets the
// environment of a server, not the harness's.
func (p *endpoint) runHelper(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", p.cfg.HeadersHelper)
	cmd.Dir = p.host.opts.Dir
	cmd.Env = append(childEnv(p.host.opts.Environ, p.cfg.Env),
		"HAFT_MCP_SERVER_NAME="+p.name, "HAFT_MCP_SERVER_URL="+p.cfg.URL,
		"CLAUDE_CODE_MCP_SERVER_NAME="+p.name, "CLAUDE_CODE_MCP_SERVER_URL="+p.cfg.URL)
	cmd.WaitDelay = time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("no answer within %s", helperTime)
		}
		if said := strings.TrimSpace(errs.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, shorten(said, 500))
		}
		return nil, fmt.Errorf("headersHelper failed: %w", err)
	}
	var headers map[string]string
	if err := json.Unmarshal(out, &headers); err != nil {
		return nil, fmt.Errorf("headersHelper must print a JSON object of strings: %w", err)
	}
	return headers, nil
}

func (p *endpoint) listPrompts(ctx context.Context, s *session) ([]Prompt, error) {
	ctx, done := s.within(ctx)
	defer done()
	var prompts []Prompt
	var names []string
	for q, err := range s.wire.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(prompts) == maxResources {
			break
		}
		prompt := Prompt{Server: p.name, Name: q.Name}
		prompt.Title, _ = clean(q.Title)
		prompt.Description, _ = clean(q.Description)
		for _, a := range q.Arguments {
			prompt.Arguments = append(prompt.Arguments, PromptArg{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		prompts, names = append(prompts, prompt), append(names, q.Name)
	}
	offered := offeredNames(p.key, names)
	for i := range prompts {
		prompts[i].Command = offered[prompts[i].Name]
	}
	slices.SortFunc(prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return prompts, nil
}

// resubscribe makes the subscriptions of a connection that was lost again.
func (p *endpoint) resubscribe(uris []string) {
	ctx, cancel := context.WithTimeout(p.ctx, p.startTimeout())
	defer cancel()
	for _, uri := range uris {
		if err := p.host.Subscribe(ctx, p.name, uri); err != nil {
			p.host.opts.Log.Warn("mcp: could not renew a subscription", "server", p.name, "uri", uri, "cause", err)
		}
	}
}

// question asks the program about a call of its tool, beside the session: the protocol has no
// such request.
func (p *endpoint) question(ctx context.Context, o *offer, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "haft-" + string(part), "method": "haft/tool", "params": map[string]any{
		"name": o.Name, "part": part, "arguments": arguments(o.names.Back(c.Input)), "_meta": callMeta(c),
	}})
	if err != nil {
		return nil, err
	}
	raw, err := p.host.opts.Send(ctx, p.name, message)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Result struct {
			Answer json.RawMessage `json:"answer"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, errors.New(reply.Error.Message)
	}
	return reply.Result.Answer, nil
}

// helperTime is how long a headersHelper may take.
const helperTime = 10 * time.Second
