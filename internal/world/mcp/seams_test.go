package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// ask has the server ask the host, and returns what the host answers.
func ask(t *testing.T, h *mcp.Host, method, params string) string {
	t.Helper()
	return tell(call(t, h, "bad", "echo", `{"method":"`+method+`","params":`+params+`}`))
}

func asking(t *testing.T, opts *mcp.Options) *mcp.Host {
	h := newHost(t, opts)
	h.Start([]mcp.Server{badEntry("asks the client")})
	wait(t, h)
	return h
}

const sampling = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":600,"includeContext":"allServers"}`

func TestSamplingIsOffUnlessSetUp(t *testing.T) {
	if got := ask(t, asking(t, nil), "sampling/createMessage", sampling); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("got %s", got)
	}
}

func TestSamplingNeedsConsentAndHasABudget(t *testing.T) {
	for _, agreed := range []bool{false, true} {
		asked := 0
		h := asking(t, &mcp.Options{Sampling: &mcp.Sampling{
			Consent: func(context.Context, string) (bool, error) { asked++; return agreed, nil },
			Create: func(_ context.Context, r mcp.SamplingRequest) (mcp.SamplingResult, error) {
				return mcp.SamplingResult{Model: "m", StopReason: "endTurn", Content: json.RawMessage(`{"type":"text","text":"hello"}`)}, nil
			},
			MaxTokens: 1000,
		}})
		first, second := ask(t, h, "sampling/createMessage", sampling), ask(t, h, "sampling/createMessage", sampling)
		want1, want2 := "refused: sampling was not approved", "refused: sampling was not approved"
		if agreed {
			want1 = `{"content":{"type":"text","text":"hello"},"model":"m","role":"assistant","stopReason":"endTurn"}`
			want2 = "refused: the sampling budget has 400 of 1000 tokens left; 600 were requested"
		}
		if first != want1 || second != want2 || asked != 1 {
			t.Errorf("agreed %v: %s, %s, asked %d times", agreed, first, second, asked)
		}
	}
}

func TestSamplingDoesNotNest(t *testing.T) {
	var h *mcp.Host
	var inner string
	opts := &mcp.Options{Sampling: &mcp.Sampling{
		Consent: func(context.Context, string) (bool, error) { return true, nil },
		Create: func(ctx context.Context, _ mcp.SamplingRequest) (mcp.SamplingResult, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			r, err := h.Call(ctx, "other", "echo", &tool.Call{Input: json.RawMessage(`{"method":"sampling/createMessage","params":` + sampling + `}`)})
			inner = tell(r, err)
			return mcp.SamplingResult{Model: "m", Content: json.RawMessage(`{"type":"text","text":"x"}`)}, nil
		},
	}}
	h = newHost(t, opts)
	other := badEntry("asks the client")
	other.Name = "other"
	h.Start([]mcp.Server{badEntry("asks the client"), other})
	wait(t, h)
	ask(t, h, "sampling/createMessage", sampling)
	if inner != "refused: only one sampling request may run at a time" {
		t.Errorf("the inner one: %s", inner)
	}
}

func TestElicitationReachesThePerson(t *testing.T) {
	var mu sync.Mutex
	var seen []mcp.Elicitation
	h := asking(t, &mcp.Options{Elicit: func(_ context.Context, e mcp.Elicitation) (mcp.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
		if e.Mode == "url" {
			return mcp.Answer{Action: "accept"}, nil
		}
		return mcp.Answer{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}})
	const form = `{"mode":"form","message":"Who?\u200b","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","default":3},"a":{"type":"string"}}}}`
	for _, c := range []struct{ name, params, want string }{
		{"a form is filled in, with its defaults", form, `{"action":"accept","content":{"n":3,"name":"Ada"}}`},
		{"an address is visited", `{"mode":"url","message":"Log in","url":"https://a.example/x","elicitationId":"1"}`, `{"action":"accept"}`},
		{"a secret has no place in a form", `{"message":"m","requestedSchema":{"type":"object","properties":{"api_key":{"type":"string"}}}}`, "refused: the field api_key asks for a secret; use a URL elicitation for that"},
		{"an address must be of the web", `{"mode":"url","message":"m","url":"javascript:alert(1)","elicitationId":"1"}`, "refused: the URL of an elicitation must be http or https"},
		{"a form of forms is refused", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}`, `refused: elicit schema property "a" contains nested properties, only primitive properties are allowed`},
	} {
		if got := ask(t, h, "elicitation/create", c.params); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := `{"properties":{"name":{"type":"string"},"n":{"default":3,"type":"integer"},"a":{"type":"string"}},"type":"object"}`; string(seen[0].Schema) != want {
		t.Errorf("the form is %s, want %s", seen[0].Schema, want)
	}
	if len(seen) != 2 || seen[0].Message != "Who?" || seen[0].Server != "bad" || seen[1].URL != "https://a.example/x" {
		t.Errorf("seen: %+v", seen)
	}
}

func TestWithoutAPersonElicitationIsRefused(t *testing.T) {
	if got := ask(t, asking(t, nil), "elicitation/create", `{"message":"m","requestedSchema":{"type":"object"}}`); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("got %s", got)
	}
}

func TestRootsAreToldAndChange(t *testing.T) {
	h := asking(t, &mcp.Options{Roots: []string{"/a b"}})
	if got := ask(t, h, "roots/list", `{}`); got != `{"roots":[{"name":"a b","uri":"file:///a%20b"}]}` {
		t.Errorf("roots: %s", got)
	}
	h.SetRoots([]string{"/c"})
	if got := ask(t, h, "roots/list", `{}`); got != `{"roots":[{"name":"c","uri":"file:///c"}]}` {
		t.Errorf("roots: %s", got)
	}
}
