package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who logs in again talks to the new server from then on; a variable of the environment, which would override it, is named.
func TestASecondLoginReplacesTheFirst(t *testing.T) {
	for _, name := range append([]string{"ANTHROPIC_MODEL", "OPENAI_MODEL"}, modelVariables...) {
		t.Setenv(name, "")
	}
	c := credentials(filepath.Join(t.TempDir(), "credentials.json"))
	for _, env := range []map[string]string{
		{"OPENAI_BASE_URL": "http://a/v1", "OPENAI_MODEL": "mA"},
		{"OPENAI_BASE_URL": "http://b/v1", "OPENAI_MODEL": "mB"},
		{"ANTHROPIC_API_KEY": "sk-ant-c"},
	} {
		if err := c.Keep(env); err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{"OPENAI_MODEL"}, modelVariables...) {
			if got := os.Getenv(name); got != env[name] {
				t.Errorf("%s is %q, want %q", name, got, env[name])
			}
		}
	}
	t.Setenv("OPENAI_BASE_URL", "http://of-the-user/v1")
	if _, err := c.Try(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL is set in your environment") {
		t.Errorf("Try beside a variable of the environment: %v", err)
	}
}
