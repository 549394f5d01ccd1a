// Package gate stands between the wire of one MCP connection and the protocol
// library, and lets through what the library can take.
//
// Whatever is not a message, or answers nothing that was asked, is left out and
// counted. An id that came back as text becomes the number it was. An error of
// the wrong shape gets the right one. A broken entry of a tool list is taken
// out, so that it does not cost the others.
//
// Results of tool calls and prompts pass the library by: it decodes content
// strictly and keeps several copies. The gate keeps the bytes, the library gets
// an empty result with a ticket, and whoever made the call redeems it.
//
// A Gate is safe for concurrent use and needs no closing.
package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

// A Gate is that of one connection.
type Gate struct {
	// Progress, if set, gets the parameters of progress notifications, in order
	// with the results that they belong to. The library does not see them.
	Progress func(params json.RawMessage)

	watch func(sent bool, message []byte)

	mu      sync.Mutex
	pending map[int64]string // the methods of requests that have no answer yet
	results map[int64]json.RawMessage

	noise     int
	lastNoise string
}

// New makes a Gate; watch, if not nil, sees every message.
func New(watch func(sent bool, message []byte)) *Gate {
	return &Gate{watch: watch, pending: make(map[int64]string), results: make(map[int64]json.RawMessage)}
}

// Sent notes a message of the library on its way out, which is well-formed.
func (g *Gate) Sent(data []byte) envelope.Message {
	if g.watch != nil {
		g.watch(true, data)
	}
	m := envelope.Read(data)
	switch {
	case m.Method == "notifications/cancelled":
		gone := envelope.Message{ID: envelope.Field(m.Params, "requestId")}
		if id, ok := gone.Number(); ok {
			g.Forget(id)
		}
	case m.Method != "" && m.HasID():
		if id, ok := m.Number(); ok {
			g.mu.Lock()
			g.pending[id] = m.Method
			g.mu.Unlock()
		}
	}
	return m
}

// Waiting returns the method of a request without an answer, or "".
func (g *Gate) Waiting(id int64) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pending[id]
}

// Forget takes back a request whose answer nobody waits for any more.
func (g *Gate) Forget(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, id)
	delete(g.results, id)
}

// Admit reads an incoming message; false means that it stays outside.
func (g *Gate) Admit(data []byte) (envelope.Message, bool) {
	m, err := envelope.Scan(data)
	if err != nil {
		g.Noise(string(data[:min(len(data), maxNoise)]))
		return g.garbled(data, err)
	}
	if g.watch != nil {
		g.watch(false, data)
	}
	switch {
	case m.IsResponse():
		return g.admitResponse(m)
	case m.Method == "notifications/progress" && g.Progress != nil:
		g.Progress(m.Params)
		return m, false
	case m.Method == "elicitation/create":
		m.Params = keepOrder(m.Params)
	}
	return m, true
}

// Order is the member of a form's schema that has the names of its fields in their
// order: the library decodes schemas into maps, and users fill in forms from the top.
const Order = "x-haft-order"

func keepOrder(params json.RawMessage) json.RawMessage {
	schema := envelope.Field(params, "requestedSchema")
	var names []string
	for name := range envelope.Fields(envelope.Field(schema, "properties")) {
		names = append(names, name)
	}
	list, err := json.Marshal(names)
	if err != nil || len(names) == 0 {
		return params
	}
	// The last of two members counts, so that a server's own cannot be taken for this.
	ordered := bytes.TrimSuffix(bytes.TrimRight(schema, " \t\r\n"), []byte("}"))
	ordered = fmt.Appendf(bytes.Clone(ordered), `,%q:%s}`, Order, list)
	return bytes.Replace(params, schema, ordered, 1)
}

// garbled looks whether what cannot be read was meant as an answer: whoever waits
// for it must not wait for ever. A log line that happens to have an id is none.
func (g *Gate) garbled(data []byte, err error) (envelope.Message, bool) {
	head := data[:min(len(data), 4<<10)]
	m := envelope.Message{ID: envelope.IDOf(head)}
	id, ok := m.Number()
	if !ok || g.Waiting(id) == "" || !bytes.Contains(head, []byte(`"jsonrpc"`)) {
		return m, false
	}
	g.Forget(id)
	return Failure(id, "the server's answer cannot be read: it is "+err.Error()), true
}

func (g *Gate) admitResponse(m envelope.Message) (envelope.Message, bool) {
	id, ok := m.Number()
	if !ok {
		g.Noise("an answer without an id: " + string(m.Error[:min(len(m.Error), maxNoise)]))
		return m, false
	}
	g.mu.Lock()
	method := g.pending[id]
	delete(g.pending, id)
	g.mu.Unlock()
	if method == "" {
		return m, false // late, double, or never asked for
	}
	m.ID = strconv.AppendInt(nil, id, 10)
	switch {
	case m.Error != nil:
		m.Error, m.Result = tidyError(m.Error), nil
	case method == "tools/list":
		m.Result = g.admitTools(id, m.Result)
	case (method == "tools/call" || method == "prompts/get") && !wantsInput(m.Result):
		m.Result = g.keep(id, m.Result, "")
	}
	return m, true
}

// wantsInput reports whether a result is a question, which the library answers.
func wantsInput(result json.RawMessage) bool {
	return string(envelope.Field(result, "resultType")) == `"input_required"` || envelope.Field(result, "inputRequests") != nil
}

// ticketKey is where a result's _meta holds the ticket.
const ticketKey = "haft/ticket"

// keep puts a result aside and returns an empty one with its ticket, which is
// the number of the request.
func (g *Gate) keep(id int64, result json.RawMessage, fields string) json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.results[id] = result
	return json.RawMessage(`{"_meta":{"` + ticketKey + `":"` + strconv.FormatInt(id, 10) + `"},` + fields + `"content":[],"messages":[]}`)
}

// Redeem returns the result that a ticket stands for, once.
func (g *Gate) Redeem(meta map[string]any) (json.RawMessage, bool) {
	ticket, _ := meta[ticketKey].(string)
	id, err := strconv.ParseInt(ticket, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	result, ok := g.results[id]
	delete(g.results, id)
	return result, ok && err == nil
}

// admitTools takes the entries out of a tool list that the library would
// stumble over, and keeps the whole.
func (g *Gate) admitTools(id int64, result json.RawMessage) json.RawMessage {
	var list strings.Builder
	for entry := range envelope.Elements(envelope.Field(result, "tools")) {
		if checkTool(entry) != nil {
			continue
		}
		if list.Len() > 0 {
			list.WriteByte(',')
		}
		list.Write(entry)
	}
	fields := `"tools":[` + list.String() + `],`
	for _, name := range []string{"nextCursor", "ttlMs", "cacheScope", "resultType"} {
		if value := envelope.Field(result, name); value != nil && string(value) != "null" {
			fields += strconv.Quote(name) + ":" + string(value) + ","
		}
	}
	return g.keep(id, result, fields)
}

// tidyError gives an error the shape that the protocol has.
func tidyError(raw json.RawMessage) json.RawMessage {
	type wire struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	var e wire
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return raw
	}
	if e.Message == "" {
		e.Message = string(raw)
	}
	if e.Code == 0 {
		e.Code = -32603
	}
	tidy, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"code":-32603,"message":"an error that cannot be read"}`)
	}
	return tidy
}

// maxNoise is how many bytes of dropped output are kept for errors.
const maxNoise = 200

// Noise counts something that is no message.
func (g *Gate) Noise(text string) {
	if text = strings.TrimSpace(text); text == "" || text == "\ufeff" {
		return
	}
	for len(text) > maxNoise || !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text[:min(len(text), maxNoise)], "\ufffd")
		if len(text) <= 3*maxNoise {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noise++
	g.lastNoise = text
}

// Skipped returns how much was left out, and the newest of it.
func (g *Gate) Skipped() (count int, last string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.noise, g.lastNoise
}

// Encode writes a message as JSON.
func Encode(m envelope.Message) []byte {
	b := append(make([]byte, 0, len(m.Params)+len(m.Result)+len(m.Error)+100), `{"jsonrpc":"2.0"`...)
	part := func(name string, value []byte) {
		if value != nil {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = append(b, value...)
		}
	}
	part("id", m.ID)
	if m.Method != "" {
		name, _ := json.Marshal(m.Method)
		part("method", name)
	}
	part("params", m.Params)
	part("result", m.Result)
	part("error", m.Error)
	return append(b, '}')
}

// Refusal is an answer that came beside the protocol.
func Refusal(id int64, err json.RawMessage) envelope.Message {
	return envelope.Message{ID: strconv.AppendInt(nil, id, 10), Error: tidyError(err)}
}

// Failure is the answer to a request that gets none from the server.
func Failure(id int64, message string) envelope.Message {
	text, _ := json.Marshal(message)
	return envelope.Message{
		ID:    strconv.AppendInt(nil, id, 10),
		Error: json.RawMessage(`{"code":-32603,"message":` + string(text) + `}`),
	}
}
