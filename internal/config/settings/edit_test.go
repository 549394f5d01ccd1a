package settings

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
)

// The files in testdata/edit are texts as people write them; NAME.add is what
// adding Bash(new *) to allow makes of NAME.json, NAME.remove what removing
// Bash(old *) does.
func TestAnEditTouchesNothingElse(t *testing.T) {
	files, err := filepath.Glob("testdata/edit/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		added, err := ruleEdit(addRule).apply(text, "allow", "Bash(new *)")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		golden.Check(t, strings.TrimSuffix(file, "json")+"add", string(added))
		removed, err := ruleEdit(removeRule).apply(text, "allow", "Bash(old *)")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		golden.Check(t, strings.TrimSuffix(file, "json")+"remove", string(removed))
	}
}

func TestAFileThatCannotBeEditedIsLeftAlone(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"text that is no JSON", "{\n  permissions", "line 2, column 3: invalid literal: permissions"},
		{"a list at the top", "[]", "settings must be a JSON object, such as {}"},
		{"permissions of another type", "{\n\"permissions\": []}", "line 2: permissions must be an object; fix it first"},
		{"rules of another type", `{"permissions": {"allow": "Bash"}}`, "line 1: allow must be a list; fix it first"},
		{"values too deep", strings.Repeat("[", 1<<19), "line 1: values are nested more than 200 deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, edit := range []ruleEdit{addRule, removeRule} {
				if _, err := edit.apply([]byte(tt.text), "allow", "Bash"); err == nil || err.Error() != tt.want {
					t.Errorf("error %v, want %s", err, tt.want)
				}
			}
		})
	}
}

func FuzzEdit(f *testing.F) {
	files, _ := filepath.Glob("testdata/edit/*.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "Bash(old *)")
	}
	f.Fuzz(func(t *testing.T, text []byte, rule string) {
		rule = strings.ToValidUTF8(rule, "?")
		added, err := ruleEdit(addRule).apply(text, "allow", rule)
		if err != nil {
			return
		}
		before, after := decode(t, text), decode(t, added)
		rules, _ := rulesIn(before)
		newRules, ok := rulesIn(after)
		if !ok || !slices.Contains(newRules, any(rule)) {
			t.Fatalf("the rule is not there:\n%s", added)
		}
		if !slices.Contains(rules, any(rule)) {
			if diff := cmp.Diff(append(slices.Clone(rules), rule), newRules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		}
		sameApart(t, text, added, before, after)

		removed, err := ruleEdit(removeRule).apply(added, "allow", rule)
		if err != nil {
			t.Fatalf("remove: %v", err)
		}
		gone := decode(t, removed)
		left, _ := rulesIn(gone)
		want := slices.DeleteFunc(slices.Clone(newRules), func(r any) bool { return r == rule })
		if diff := cmp.Diff(append([]any{}, want...), append([]any{}, left...)); diff != "" {
			t.Errorf("rules after removal (-want +got):\n%s\n%s", diff, removed)
		}
		sameApart(t, added, removed, after, gone)
	})
}

// sameApart checks that two texts differ in the allow rules only.
func sameApart(t *testing.T, a, b []byte, before, after map[string]any) {
	t.Helper()
	if diff := cmp.Diff(comments(a), comments(b)); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	if standard(t, a) && !standard(t, b) {
		t.Errorf("plain JSON became\n%s", b)
	}
	if diff := cmp.Diff(withoutRules(before), withoutRules(after)); diff != "" {
		t.Errorf("other values (-want +got):\n%s", diff)
	}
}

func standard(t *testing.T, text []byte) bool {
	t.Helper()
	v, err := parseValue(bytes.TrimPrefix(text, bom))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return v.IsStandard()
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	root, err := parse(text, func(string, int) {})
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	m := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(root.json()))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return m
}

func rulesIn(m map[string]any) ([]any, bool) {
	p, _ := m["permissions"].(map[string]any)
	rules, ok := p["allow"].([]any)
	return rules, ok
}

// withoutRules returns a copy in which the list of rules, and what held only it,
// is missing.
func withoutRules(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	if p, ok := m["permissions"].(map[string]any); ok {
		rest := map[string]any{}
		for k, v := range p {
			if k != "allow" {
				rest[k] = v
			}
		}
		out["permissions"] = rest
		if len(rest) == 0 {
			delete(out, "permissions")
		}
	}
	return out
}

func comments(text []byte) []string {
	var all []string
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			c := comment(text[i:])
			all = append(all, strings.TrimRight(string(c), "\r"))
			i += len(c) - 1
		}
	}
	return all
}
