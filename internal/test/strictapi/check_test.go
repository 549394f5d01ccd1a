package strictapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const good = `{
 "model": "claude-opus-5-5", "max_tokens": 1000, "stream": true,
 "system": [{"type": "text", "text": "You help."}],
 "tools": [
  {"name": "Bash", "description": "runs", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}},
  {"name": "Sleep", "defer_loading": true, "input_schema": {"type": "object"}}],
 "messages": [
  {"role": "user", "content": "hi"},
  {"role": "assistant", "content": [
   {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
   {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
   {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}}]},
  {"role": "user", "content": [
   {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"},
   {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "tool_reference", "tool_name": "Sleep"}]},
   {"type": "text", "text": "go on"}]}]}`

func header(betas ...string) http.Header {
	h := http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}

func TestGoodRequest(t *testing.T) {
	for _, v := range Check(header(), []byte(good)) {
		t.Error(v)
	}
}

// Each case changes the good request by a replacement and names the rule that it
// then breaks, and a piece of what the API says.
var cases = []struct{ rule, old, new, message string }{
	{"shape", `"stream": true,`, `"stream": true, "foo": 1,`, "foo: Extra inputs are not permitted"},
	{"shape", `"max_tokens": 1000,`, ``, "max_tokens: Field required"},
	{"shape", `"type": "text", "text": "go on"`, `"type": "nonsense"`, "Input tag 'nonsense' found using 'type'"},
	{"shape", `"type": "text", "text": "go on"`, `"type": "text", "text": "go on", "x": 1`, "messages.2.content.2.text.x: Extra inputs are not permitted"},
	{"shape", `{"type": "object"}}],`, `{"properties": {}}}],`, "tools.1.custom.input_schema.type: Field required"},
	{"beta", `"stream": true,`, `"stream": true, "context_management": {"edits": []},`, "context-management-2025-06-27"},
	{"beta", `"stream": true,`, `"stream": true, "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},`, "thinking-binding-controls-2026-08-01"},
	{"model", `claude-opus-5-5`, `claude-opus-9`, "model: claude-opus-9"},
	{"max-tokens", `"max_tokens": 1000`, `"max_tokens": 200000`, "200000 > 128000"},
	{"metadata", `"stream": true,`, `"stream": true, "metadata": {"user_id": "` + strings.Repeat("x", 257) + `"},`, "at most 256"},
	{"text-empty", `"text": "go on"`, `"text": ""`, "must be non-empty"},
	{"text-blank", `"text": "go on"`, `"text": " \n"`, "non-whitespace"},
	{"text-empty", `"text": "You help."`, `"text": ""`, "system.0: text content blocks must be non-empty"},
	{"content-empty", `"content": "hi"`, `"content": ""`, "non-empty content"},
	{"first", `{"role": "user", "content": "hi"},`, `{"role": "assistant", "content": "hi"},`, "first message"},
	{"use-id", `toolu_1`, `call:1`, "String should match pattern"},
	{"use-input", `"input": {}`, `"input": []`, "valid dictionary"},
	{"use-unique", `toolu_2`, `toolu_1`, "ids must be unique"},
	{"use-answered", `{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"},`, ``, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."},
	{"result-known", `"tool_use_id": "toolu_1"`, `"tool_use_id": "toolu_9"`, "messages.2.content.0: unexpected `tool_use_id`"},
	{"result-first", `{"type": "tool_result", "tool_use_id": "toolu_1"`, `{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "toolu_1"`, "toolu_1"},
	{"reference-mixed", `[{"type": "tool_reference"`, `[{"type": "text", "text": "found"}, {"type": "tool_reference"`, "cannot be mixed"},
	{"result-error-text", `"content": "a"}`, `"is_error": true, "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}}]}`, "must be type `text`"},
	{"tool-reference", `"tool_name": "Sleep"`, `"tool_name": "Gone"`, "Tool reference 'Gone' not found"},
	{"tool-defer", `"description": "runs",`, `"defer_loading": true,`, "All tools cannot be deferred"},
	{"cache-deferred", `"defer_loading": true,`, `"defer_loading": true, "cache_control": {"type": "ephemeral"},`, "defer_loading"},
	{"tool-unique", `"name": "Sleep"`, `"name": "Bash"`, "must be unique"},
	{"tool-name", `"name": "Sleep"`, `"name": "a.b"`, "tools.1.custom.name: String should match pattern"},
	{"tool-schema-top", `{"type": "object"}}],`, `{"type": "object", "anyOf": [{"required": ["a"]}]}}],`, "at the top level"},
	{"tool-schema-keys", `"properties": {"command"`, `"properties": {"$top"`, "Property keys should match pattern"},
	{"tool-schema", `{"type": "string"}`, `{"type": "any"}`, "draft 2020-12"},
	{"tool-schema", `{"type": "string"}`, `{"type": "array", "items": [{"type": "string"}]}`, "draft 2020-12"},
	{"tool-schema", `{"type": "string"}`, `{"type": "number", "minimum": 0, "exclusiveMinimum": true}`, "draft 2020-12"},
	{"tool-choice", `"stream": true,`, `"stream": true, "tool_choice": {"type": "any"},`, "not supported for this model"},
	{"tool-choice", `"stream": true,`, `"stream": true, "tool_choice": {"type": "tool", "name": "Gone"},`, "not found in provided tools"},
	{"strict-schema", `"description": "runs",`, `"strict": true,`, "additionalProperties"},
	{"thinking-type", `"stream": true,`, `"stream": true, "thinking": {"type": "disabled"},`, "thinking.type.disabled"},
	{"thinking-type", `"stream": true,`, `"stream": true, "thinking": {"type": "enabled", "budget_tokens": 1024},`, "thinking.type.enabled"},
	{"thinking-signature", `"signature": "c2ln"`, `"signature": ""`, "Invalid `signature`"},
	{"sampling", `"stream": true,`, `"stream": true, "temperature": 0,`, "not supported"},
	{"task-budget", `"stream": true,`, `"stream": true, "output_config": {"task_budget": {"type": "tokens", "total": 1000}},`, "20000"},
	{"cache-empty", `"text": "go on"`, `"text": "", "cache_control": {"type": "ephemeral"}`, "empty text blocks"},
	{"cache-ttl", `"text": "You help."}`, `"text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b", "cache_control": {"type": "ephemeral", "ttl": "1h"}}`, "must not come after"},
	{"json", `"hi"`, `"\ud83d"`, "no low surrogate"},
	{"prefill", `{"type": "text", "text": "go on"}]}]}`, `{"type": "text", "text": "go on"}]}, {"role": "assistant", "content": "So"}]}`, "assistant message prefill"},
	{"system-turn", `{"role": "user", "content": "hi"},`, `{"role": "system", "content": "x"}, {"role": "user", "content": "hi"},`, "must not be the first"},
	{"image-data", `{"type": "text", "text": "go on"}`, `{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}`, "Could not process image"},
	{"image-type", `{"type": "text", "text": "go on"}`, `{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "` + onePixel + `"}}`, "does not match the provided media type"},
	{"pdf-data", `{"type": "text", "text": "go on"}`, `{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}`, "PDF"},
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestRules(t *testing.T) {
	for _, c := range cases {
		t.Run(c.rule+" "+c.message, func(t *testing.T) {
			body := strings.Replace(good, c.old, c.new, 1)
			if body == good {
				t.Fatalf("%q is not in the good request", c.old)
			}
			if c.rule == "use-id" {
				body = strings.ReplaceAll(good, c.old, c.new)
			}
			found := Check(header(), []byte(body))
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.rule && strings.Contains(v.Text(), c.message) }) {
				t.Errorf("found %v", found)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		rule   string
		status int
		header http.Header
	}{
		{"auth", 401, http.Header{"Anthropic-Version": {"2023-06-01"}}},
		{"version", 400, http.Header{"X-Api-Key": {"k"}}},
		{"beta-unknown", 400, header("nonsense-2020-01-01")},
	} {
		found := Check(c.header, []byte(good))
		if len(found) != 1 || found[0].Rule != c.rule || found[0].Status != c.status {
			t.Errorf("%s: found %v", c.rule, found)
		}
	}
}

func TestMarks(t *testing.T) {
	marked := strings.ReplaceAll(good, `"type": "tool_result",`, `"type": "tool_result", "cache_control": {"type": "ephemeral"},`)
	marked = strings.ReplaceAll(marked, `"text": "go on"`, `"text": "go on", "cache_control": {"type": "ephemeral"}`)
	marked = strings.ReplaceAll(marked, `"text": "You help."`, `"text": "You help.", "cache_control": {"type": "ephemeral"}`)
	if found := Check(header(), []byte(marked)); len(found) != 0 {
		t.Errorf("four marks: %v", found)
	}
	marked = strings.ReplaceAll(marked, `"description": "runs",`, `"cache_control": {"type": "ephemeral"},`)
	if found := Check(header(), []byte(marked)); len(found) != 1 || found[0].Rule != "cache-marks" {
		t.Errorf("five marks: %v", found)
	}
}

func TestManyImages(t *testing.T) {
	wide := base64.StdEncoding.EncodeToString(gif(2100, 10))
	image := fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":%q}}`, wide)
	for n, want := range map[int]bool{20: false, 21: true} {
		body := fmt.Sprintf(`{"model":"claude-opus-5-5","max_tokens":10,"messages":[{"role":"user","content":[%s]}]}`, strings.TrimSuffix(strings.Repeat(image+",", n), ","))
		found := Check(header(), []byte(body))
		if got := len(found) > 0 && found[0].Rule == "image-many"; got != want {
			t.Errorf("%d images: %v", n, found)
		}
	}
}

// gif is the head of an image, which is all that is read of it.
func gif(width, height int) []byte {
	b := []byte("GIF89a")
	b = append(b, byte(width), byte(width>>8), byte(height), byte(height>>8), 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
	return append(b, 0x2c, 0, 0, 0, 0, byte(width), byte(width>>8), byte(height), byte(height>>8), 0, 2, 2, 0x44, 1, 0, 0x3b)
}

// What only the SDK's beta types have needs a header that we know; what its stable
// types have needs none.
func TestGatesAreThoseOfTheSDK(t *testing.T) {
	s := loadSchemas()
	stable, beta := s.features("StableMessage"), s.features("BetaMessage")
	for f := range beta {
		if stable[f] || free[f] != "" {
			continue
		}
		if gateOf(f) == nil {
			t.Errorf("%s is in the beta types only, and no header is known for it", f)
		}
	}
	for _, g := range gates {
		if stable[g.field] {
			t.Errorf("%s is in the stable types, and cannot need a header", g.field)
		}
		if !beta[g.field] && !strings.Contains(g.field, "=") {
			t.Errorf("%s is not in the SDK's types", g.field)
		}
		for _, h := range g.headers {
			if !slices.Contains(knownBetas, h) {
				t.Errorf("%s: %s is no known beta", g.field, h)
			}
		}
	}
}

// features names the members and kinds of things that a schema has, as gates do.
func (s *schemas) features(name string) map[string]bool {
	out := map[string]bool{}
	root := s.Definitions[name]
	for field := range root.Properties {
		out[field] = true
	}
	members := func(prefix string, n *node) {
		for _, b := range s.branches(n) {
			if b == nil {
				continue
			}
			for field := range b.Properties {
				out[prefix+field] = true
			}
		}
	}
	kinds := func(prefix string, n *node) {
		_, tags := s.tags(s.branches(n))
		for tag := range tags {
			out[prefix+tag] = true
		}
	}
	members("thinking.", root.Properties["thinking"])
	members("output_config.", root.Properties["output_config"])
	members("container.", root.Properties["container"])
	kinds("tool.", s.resolve(root.Properties["tools"]).Items)
	message := s.resolve(root.Properties["messages"]).Items
	members("messages.*.", message)
	for _, m := range s.branches(message) {
		for _, content := range s.branches(m.Properties["content"]) {
			if content != nil && content.Items != nil {
				kinds("block.", content.Items)
			}
		}
	}
	return out
}

// A Memory knows the thoughts that were answered with, and finds requests that bring
// them back changed or into another conversation.
func TestMemory(t *testing.T) {
	user := `{"role":"user","content":"hi"}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`
	said := func(thought string) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":%q,"signature":"c2ln"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}`, thought)
	}
	request := func(system, messages string) []byte {
		return fmt.Appendf(nil, `{"model":"claude-opus-5-5","max_tokens":10,"system":%q,"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[%s]}`, system, messages)
	}
	m := NewMemory()
	m.Learn(request("s", user), []map[string]any{
		{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
		{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": map[string]any{}},
	})
	for _, c := range []struct{ name, system, messages, message string }{
		{"the same conversation", "s", user + "," + said("hm") + "," + result, ""},
		{"a changed thought", "s", user + "," + said("other") + "," + result, "cannot be modified"},
		{"another system prompt", "other", user + "," + said("hm") + "," + result, "bound to a different conversation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := m.Check(header(), request(c.system, c.messages))
			switch {
			case c.message == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case c.message != "" && (len(found) == 0 || !strings.Contains(found[0].Text(), c.message)):
				t.Errorf("found %v, want %q", found, c.message)
			}
		})
	}
}
