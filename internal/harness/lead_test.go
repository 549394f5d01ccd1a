package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/model/script"
)

// An agent of a file leads the conversation: named at the start, or in the settings.
func TestAnAgentLeads(t *testing.T) {
	for name, opts := range map[string]harness.Options{
		"named at the start": {Agent: "gardener"},
		"of the settings":    {Settings: `{"agent":"gardener"}`, Sources: []settings.Source{settings.User}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "Watered."}}})
			dir := filepath.Join(os.Getenv("HOME"), ".haft", "agents")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			text := "---\nname: gardener\ndescription: waters plants\ntools: Read, Grep\n---\nYou water plants.\n"
			if err := os.WriteFile(filepath.Join(dir, "gardener.md"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			c := r.talk(opts, harness.TalkOptions{})
			defer c.Close(t.Context())
			r.say(c, "go")
			body := string(r.server.Requests()[0].Body)
			if !strings.Contains(body, "You water plants.") || !strings.Contains(body, `"name":"Grep"`) || strings.Contains(body, `"name":"Bash"`) {
				t.Errorf("the request is not the agent's: %.600s", body)
			}
		})
	}
	_, err := harness.Open(&harness.Options{Dir: t.TempDir(), Agent: "gardner"})
	if err == nil || !strings.Contains(err.Error(), `could not start with the agent "gardner"`) {
		t.Errorf("one that does not exist: %v", err)
	}
}

// A conversation that is cleared is another session, and led by the same agent; that
// it was resumed before makes no difference.
func TestAnAgentLeadsAfterAClearing(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "Watered."}}}, script.Turn{Blocks: []script.Block{{Text: "Again."}}}, script.Turn{Blocks: []script.Block{{Text: "Once more."}}})
	gardener := []agentdef.Definition{{Name: "gardener", Description: "waters plants", Prompt: "You water plants.", Tools: []string{"Read", "Grep"}}}
	c := r.talk(harness.Options{Agents: gardener, Agent: "gardener"}, harness.TalkOptions{})
	r.say(c, "go")
	c.Close(t.Context())
	c = r.talk(harness.Options{Agents: gardener}, harness.TalkOptions{Resume: c.Agent.Session()})
	c.Agent.Clear()
	r.say(c, "go on")
	c.Close(t.Context())
	c = r.talk(harness.Options{Agents: gardener}, harness.TalkOptions{Resume: c.Agent.Session()})
	defer c.Close(t.Context())
	r.say(c, "and on")
	for i, request := range r.server.Requests() {
		if body := string(request.Body); !strings.Contains(body, "You water plants.") || strings.Contains(body, `"name":"Bash"`) {
			t.Errorf("request %d is not the agent's: %.300s", i, body)
		}
	}
}
