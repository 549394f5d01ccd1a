package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func TestInstructionsIncludeNothingThatIsHidden(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	r.write("CLAUDE.md", "Read @secrets/k.txt and @.env and @notes.md\n")
	r.write("secrets/k.txt", "TOPSECRET1")
	r.write(".env", "TOPSECRET2")
	r.write("notes.md", "PLAINNOTES")
	r.write(".claude/settings.json", `{"permissions":{"deny":["Read(./secrets/**)"]}}`)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hi")
	body := string(r.server.Requests()[0].Body)
	if strings.Contains(body, "TOPSECRET") {
		t.Error("the model was shown what is hidden from it")
	}
	if !strings.Contains(body, "PLAINNOTES") {
		t.Error("the model was not shown what it may see")
	}
}

func TestNobodyComesToAskNobody(t *testing.T) {
	const disabled = `{"permissions":{"disableBypassPermissionsMode":"disable"}}`
	for name, c := range map[string]struct {
		opts harness.Options
		ok   bool
	}{
		"a session that was not started for it": {harness.Options{}, false},
		"one that may":                          {harness.Options{MayBypass: true}, true},
		"one that began in it":                  {harness.Options{Mode: "bypassPermissions"}, true},
		"one whose settings switch it off":      {harness.Options{MayBypass: true, Settings: disabled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			talk := r.talk(c.opts, harness.TalkOptions{})
			defer talk.Close(t.Context())
			if err := talk.Agent.SetMode("bypassPermissions"); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
			if err := talk.Agent.SetMode("plan"); err != nil {
				t.Errorf("a careful mode: %v", err)
			}
		})
	}
}

func TestHaftWorksAtHome(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	r.dir = os.Getenv("HOME")
	r.write(".claude/settings.json", `{"permissions":{"deny":["WebFetch"],"allow":["Bash"]}}`)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "hi"); last.Text != "hello" {
		t.Errorf("%+v", last)
	}
	if c.Agent.Tools().Lookup("WebFetch") != nil {
		t.Error("a denial does not count")
	}
}
