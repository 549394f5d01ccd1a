package httpgate

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/haftdev/haft/internal/world/mcp/gate"
)

func pass(text string, limit int, pending ...string) string {
	g := gate.New(nil)
	for _, p := range pending {
		g.Sent([]byte(p))
	}
	s := newStream(context.Background(), io.NopCloser(iotest.OneByteReader(strings.NewReader(text))), &Transport{Gate: g, Max: limit}, 0)
	out, _ := io.ReadAll(s)
	return string(out)
}

func TestEventsPassTheGate(t *testing.T) {
	const asked = `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`
	for _, c := range []struct{ name, in, want string }{
		{"a message passes", "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
		{"data of several lines is one", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"1\",\"result\":{}}\r\n\r\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
		{"noise leaves only its id", "id: 6\nretry: 10\ndata: hello\n\n", "id: 6\nretry: 10\n\n"},
		{"noise without an id leaves nothing", "data: hello\n\n: comment\n\n", ": skipped\n\n"},
		{"an answer to nothing is noise", "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n", ": skipped\n\n"},
		{"another event is left alone", "event: endpoint\ndata: /messages\n\n", "event: endpoint\ndata: /messages\n\n"},
		{"a cut event is none", "data: {\"jsonrpc\"", ""},
		{"a long answer fails its call", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"" + strings.Repeat("a", 5000) + "\"}\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"the server's answer is longer than 0 MiB\"}}\n\n"},
	} {
		if got := pass(c.in, 4<<10, asked); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("data: {}\n\nevent: x\ndata: y\nid\nretry: z\n\n\r\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		out := pass(text, 1000)
		for _, event := range strings.Split(out, "\n\n") {
			if data, ok := strings.CutPrefix(event, "data: "); ok && !strings.Contains(data, `"jsonrpc":"2.0"`) {
				t.Errorf("%q passed", data)
			}
		}
	})
}
