package mcp

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/mcp/stdio"
)

// An sdkLink carries messages by a function.
type sdkLink struct {
	server   string
	send     SendFunc
	gate     *gate.Gate
	ctx      context.Context
	cancel   context.CancelFunc
	incoming chan envelope.Message

	mu       sync.Mutex
	manifest map[string]json.RawMessage // answers that are known beforehand, by method
}

func newSDKLink(server string, send SendFunc, m *Manifest, g *gate.Gate) *sdkLink {
	l := &sdkLink{server: server, send: send, gate: g, incoming: make(chan envelope.Message), manifest: map[string]json.RawMessage{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if m != nil && len(m.Initialize) > 0 {
		l.manifest["initialize"] = m.Initialize
		l.manifest["notifications/initialized"] = json.RawMessage(`{}`)
		if len(m.Tools) > 0 {
			l.manifest["tools/list"] = m.Tools
		}
	}
	return l
}

// known returns an answer that needs no message, once.
func (l *sdkLink) known(method string) (json.RawMessage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.manifest[method]
	delete(l.manifest, method)
	return answer, ok
}

func (l *sdkLink) Connect(context.Context) (sdk.Connection, error) { return l, nil }
func (l *sdkLink) Stderr() []string                                { return nil }
func (l *sdkLink) PID() int                                        { return 0 }
func (l *sdkLink) SessionID() string                               { return "" }

func (l *sdkLink) Close() error {
	l.cancel()
	return nil
}

// Read returns the next message for the library.
func (l *sdkLink) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.incoming:
		return stdio.Decode(m)
	case <-l.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message of the library. The answer is not waited for here.
func (l *sdkLink) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	m := l.gate.Sent(data)
	if answer, ok := l.known(m.Method); ok {
		if m.HasID() {
			go l.receive(gate.Encode(envelope.Message{ID: m.ID, Result: answer}))
		}
		return nil
	}
	switch {
	case m.Method == "notifications/cancelled":
		ctx = context.WithoutCancel(ctx)
	case m.Method != "" && !m.HasID():
		l.carry(ctx, m, data) // what follows it may rely on it
		return nil
	}
	go l.carry(ctx, m, data)
	return nil
}

func (l *sdkLink) carry(ctx context.Context, m envelope.Message, data []byte) {
	reply, err := l.send(ctx, l.server, data)
	if !m.HasID() || m.Method == "" {
		return // what is said to a notification means nothing
	}
	if err != nil {
		id, _ := m.Number()
		l.gate.Forget(id)
		l.deliver(gate.Failure(id, err.Error()))
		return
	}
	l.receive(reply)
	if id, _ := m.Number(); l.gate.Waiting(id) != "" {
		l.gate.Forget(id)
		l.deliver(gate.Failure(id, "the server's reply does not answer the request"))
	}
}

// receive takes a message of the server.
func (l *sdkLink) receive(data []byte) {
	if m, ok := l.gate.Admit(data); ok {
		l.deliver(m)
	}
}

func (l *sdkLink) deliver(m envelope.Message) {
	select {
	case l.incoming <- m:
	case <-l.ctx.Done():
	}
}
