package headless

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// testServer is a server of no program.
func testServer(o Options) *server {
	s := &server{context: context.Background(), run: newRun(&o, func(wire.Message) {})}
	s.begins()
	return s
}

// Every row answers the type whose name it has, and answers no other.
func TestEveryRowServesItsOwnRequest(t *testing.T) {
	s := testServer(Options{})
	table := s.table
	kinds := 0
	for _, k := range wire.Requests() {
		row, ok := table[k.New().Subtype()]
		if !ok {
			continue
		}
		kinds++
		if row.subtype == "initialize" { // which would open a conversation
			continue
		}
		if _, served, _ := row.answer(t.Context(), k.New()); !served {
			t.Errorf("%s is not served by its row", row.subtype)
		}
		if _, served, _ := row.answer(t.Context(), &wire.UnknownRequest{Name: row.subtype}); served {
			t.Errorf("%s is served though its fields could not be read", row.subtype)
		}
	}
	if kinds != len(table) || kinds < 30 {
		t.Errorf("%d kinds of requests have a row, and there are %d rows", kinds, len(table))
	}
}

func TestBeforeTheConversationThereIsOneAnswer(t *testing.T) {
	s := testServer(Options{Version: "v1"})
	for _, r := range []wire.Request{&wire.SetModel{}, &wire.MCPStatus{}, &wire.UnknownRequest{Name: "set_model"}, &wire.UnknownRequest{Name: "of_the_future"}} {
		if _, err := s.handle(t.Context(), r); !errors.Is(err, errNotOpened) {
			t.Errorf("%s: %v, want %v", r.Subtype(), err, errNotOpened)
		}
	}
	if reply, err := s.handle(t.Context(), &wire.GetBinaryVersion{}); err != nil || reply != (wire.BinaryVersionReply{Version: "v1"}) {
		t.Errorf("get_binary_version: %v, %v", reply, err)
	}
}

// A guest can make every request but those that run something here or change settings. A request
// that is added later is refused until someone has decided otherwise.
func TestWhatAGuestMayAsk(t *testing.T) {
	s := testServer(Options{Guest: true, OwnersAgents: []string{"owners"}})
	for _, k := range wire.Requests() {
		r := k.New()
		if _, served := s.table[r.Subtype()]; !served {
			continue
		}
		if err, refused := s.guest.may(r), r.Subtype() == "update_settings"; refused != (err != nil) {
			t.Errorf("%s: %v", r.Subtype(), err)
		}
	}
	for what, r := range map[string]wire.Request{
		"another agent than the owner's": &wire.Initialize{Agents: map[string]wire.Agent{"owners": {}}},
		"a mode that is not known":       &wire.Initialize{Agents: map[string]wire.Agent{"a": {PermissionMode: "BypassPermissions"}}},
		"plugins":                        &wire.Initialize{Plugins: []wire.PluginConfig{{Type: "local", Path: "/p"}}},
		"permissions off":                &wire.Initialize{Agents: map[string]wire.Agent{"a": {PermissionMode: "bypassPermissions"}}},
		"hooks of agents":                &wire.Initialize{Agents: map[string]wire.Agent{"a": {Hooks: json.RawMessage(`{"Stop":[]}`)}}},
		"servers that are started":       &wire.MCPSetServers{Servers: map[string]json.RawMessage{"a": json.RawMessage(`{"command":"sh"}`)}},
		"settings":                       &wire.UpdateSettings{},
	} {
		var refused *wire.ControlError
		if _, err := s.handle(t.Context(), r); !errors.As(err, &refused) || !strings.Contains(refused.Message, "only possible in a terminal") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, u := range []wire.PermissionUpdate{
		{Type: "setMode", Mode: "bypassPermissions"}, {Type: "addRules", Destination: "userSettings"}, {Type: "addRules", Destination: "projectSettings"}, {Type: "removeRules", Destination: "session"},
	} {
		if err := mayUpdate(&s.run.opts, u); err == nil || !strings.Contains(err.Error(), "only possible in a terminal") {
			t.Errorf("%+v: %v", u, err)
		}
	}
}

// What a program sends when it initializes is added to the flags, and takes nothing back: for a
// guest they are also those of the owner.
func TestInitializeTakesNothingBack(t *testing.T) {
	for _, c := range []struct {
		guest        bool
		skills, sent []string
		append       string
		wantSkills   []string
		wantAppend   string
		name         string
	}{
		{false, nil, nil, "", nil, "rule", "nothing is sent"},
		{false, nil, []string{"a"}, "more", []string{"a"}, "more", "a program replaces its own flag"},
		{true, nil, []string{"a"}, "more", []string{"a"}, "rule\n\nmore", "a guest adds to the owner's rule"},
		{false, []string{}, nil, "", []string{}, "rule", "no skills stay none"},
		{true, []string{}, []string{"a"}, "", []string{}, "rule", "a guest cannot bring skills back"},
		{true, []string{"a", "b"}, []string{"b", "c"}, "", []string{"b"}, "rule", "only those that both want"},
	} {
		h, talk := harness.Options{Skills: c.skills}, harness.TalkOptions{AppendSystem: "rule"}
		adopt(&Options{Guest: c.guest}, &h, &talk, &wire.Initialize{Skills: c.sent, AppendSystemPrompt: c.append})
		if !cmp.Equal(h.Skills, c.wantSkills) || talk.AppendSystem != c.wantAppend {
			t.Errorf("%s: skills %q, the prompt ends with %q", c.name, h.Skills, talk.AppendSystem)
		}
	}
}
