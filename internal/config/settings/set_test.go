package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
)

func TestSetTextChangesOneValue(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"an empty file":            {"", "{\n  \"effortLevel\": \"high\"\n}\n"},
		"a value that is there":    {"{ // mine\n  \"effortLevel\": \"low\", // why\n  \"x\": 1\n}\n", "{ // mine\n  \"effortLevel\": \"high\", // why\n  \"x\": 1\n}\n"},
		"other values":             {"{\n\t\"model\": \"opus\"\n}\n", "{\n\t\"model\": \"opus\",\n\t\"effortLevel\": \"high\"\n}\n"},
		"a key inside of another":  {`{"a": {"effortLevel": "low"}}`, `{"a": {"effortLevel": "low"}, "effortLevel": "high"}`},
		"a mark of some editors":   {"\ufeff{}", "\ufeff{\n  \"effortLevel\": \"high\"\n}"},
		"a value of the same kind": {`{"effortLevel": "high"}`, `{"effortLevel": "high"}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := settings.SetText(t.Context(), settings.Target{Path: path}, "effortLevel", "high"); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetTextLeavesAFileThatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	const broken = `{"effortLevel": 5}`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := settings.SetText(t.Context(), settings.Target{Path: path}, "effortLevel", "high"); err == nil {
		t.Error("a number was replaced")
	}
	if got, _ := os.ReadFile(path); string(got) != broken {
		t.Errorf("the file is now %s", got)
	}
}

func TestAKnobIsSetAndTakenOut(t *testing.T) {
	knob := map[string]settings.Knob{}
	for _, k := range settings.Knobs() {
		knob[k.Key] = k
	}
	for name, c := range map[string]struct{ key, typed, before, after string }{
		"a new file":               {"mcp.log", "true", "", "{\n  \"mcp\": {\n    \"log\": true\n  }\n}\n"},
		"in an object":             {"agents.maxDepth", "3", "{\"agents\": {\"maxRunning\": 2 /* few */}}", "{\"agents\": {\"maxRunning\": 2, /* few */ \"maxDepth\": 3}}"},
		"in place of another kind": {"preview", "ask", "{\"preview\": 1} // mine\n", "{\"preview\": \"ask\"} // mine\n"},
		"taken out":                {"mcp.log", "", `{"mcp": {"log": true, "sampling": false}, "x": 1}`, `{"mcp": {"sampling": false}, "x": 1}`},
		"taken out where it isn't": {"mcp.log", "", `{"x": 1}`, `{"x": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := knob[c.key].Set(t.Context(), settings.Target{Path: path}, c.typed); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(path)
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
