package harness_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// userSettings writes the user's own settings.
func (r *rig) userSettings(text string) {
	r.t.Helper()
	path := filepath.Join(os.Getenv("HOME"), ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestTheSettingsSayWhereModelsAreAskedAndAsWhom(t *testing.T) {
	for _, tc := range []struct{ name, settings, key, source string }{
		{"a key among the variables", `{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_API_KEY":"from-env"}}`, "from-env", "ANTHROPIC_API_KEY"},
		{"a program that prints the key", `{"env":{"ANTHROPIC_BASE_URL":%q},"apiKeyHelper":"echo from-helper"}`, "from-helper", "apiKeyHelper"},
		{"a key goes before the program", `{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_API_KEY":"from-env"},"apiKeyHelper":"echo from-helper"}`, "from-env", "ANTHROPIC_API_KEY"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
			r.userSettings(fmt.Sprintf(tc.settings, r.server.URL()))
			c := r.unconfigured()
			defer c.Close(t.Context())
			if _, last := r.say(c, "hi"); last.Text != "hello" {
				t.Fatalf("%+v", last)
			}
			header, bearer := r.server.Requests()[0].Header, ""
			if tc.source == "apiKeyHelper" {
				bearer = "Bearer " + tc.key
			}
			if key := header.Get("X-Api-Key"); key != tc.key || c.KeySource != tc.source || header.Get("Authorization") != bearer {
				t.Errorf("asked with %q and %q of %s, want %q of %s", key, header.Get("Authorization"), c.KeySource, tc.key, tc.source)
			}
		})
	}
}

// unconfigured begins a conversation where the environment names no model.
func (r *rig) unconfigured() *harness.Conversation {
	r.t.Helper()
	c, err := r.begin()
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) begin() (*harness.Conversation, error) {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL"} {
		r.t.Setenv(name, "")
	}
	w, err := harness.Open(&harness.Options{Dir: r.dir})
	if err != nil {
		return nil, err
	}
	return w.Talk(r.t.Context(), nil)
}

func TestAHelperThatGivesNoKeySaysWhy(t *testing.T) {
	r := newRig(t)
	r.userSettings(`{"apiKeyHelper":"echo locked out >&2; exit 3"}`)
	if _, err := r.begin(); err == nil || !strings.Contains(err.Error(), "apiKeyHelper in the settings returned no key: exit status 3: locked out") {
		t.Errorf("error %v", err)
	}
}

func TestHooksPostOnlyWhereTheSettingsAllow(t *testing.T) {
	posted := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted += r.URL.Path + r.Header.Get("X-A") + r.Header.Get("X-B")
	}))
	defer server.Close()
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	t.Setenv("HOOK_A", "a")
	t.Setenv("HOOK_B", "b")
	r.userSettings(fmt.Sprintf(`{
		"allowedHttpHookUrls": [%q], "httpHookAllowedEnvVars": ["HOOK_A"],
		"hooks": {"UserPromptSubmit": [{"hooks": [
			{"type": "http", "url": %q, "headers": {"X-A": "$HOOK_A", "X-B": "$HOOK_B"}, "env": ["HOOK_A", "HOOK_B"]},
			{"type": "http", "url": %q}
		]}]}}`, server.URL+"/good*", server.URL+"/good", server.URL+"/bad"))
	failed := make(chan error, 8)
	c := r.talk(harness.Options{HookRan: func(run hook.Run) {
		if run.Err != nil {
			failed <- run.Err
		}
	}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hi")
	if posted != "/gooda" {
		t.Errorf("posted %q, want what is listed with the variable that is listed", posted)
	}
	if len(failed) != 1 || !strings.Contains((<-failed).Error(), "allowedHttpHookUrls in the settings does not list its address "+server.URL+"/bad") {
		t.Error("the hook that was kept back did not say why")
	}
}
