package strictapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// maxBody is the most that a request may have.
const maxBody = 32 << 20

// Check returns what the API would find wrong with a request to /v1/messages, nil
// if it would take it. The first violation that [Violation.Refuses] is the one
// that the API answers with.
func Check(header http.Header, body []byte) []Violation {
	c := &checker{betas: betasOf(header)}
	c.checkHeader(header, len(body))
	if fault := jsonFault(body); fault != "" {
		c.add("json", nil, "The request body is not valid JSON: "+fault)
		return c.found
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		c.add("json", nil, "The request body is not valid JSON: "+err.Error())
		return c.found
	}
	root, ok := value.(map[string]any)
	if !ok {
		c.add("json", nil, "Input should be a valid dictionary")
		return c.found
	}
	c.root = root
	c.checkShape()
	if slices.ContainsFunc(c.found, func(v Violation) bool { return v.Rule == "shape" && v.Path == "" }) {
		return c.found
	}
	c.checkStrings(nil, root)
	c.checkModel()
	c.collect()
	c.checkTop()
	c.checkMessages()
	c.checkTools()
	c.checkThinking()
	c.checkCache()
	c.checkMedia()
	return c.found
}

type checker struct {
	betas []string
	root  map[string]any
	model modelInfo
	known bool
	found []Violation

	messages []*message
	tools    []map[string]any
}

// A message has its content as blocks, whatever it was sent as.
type message struct {
	role   string
	blocks []map[string]any
	plain  bool // the content is a string
	sets   bool // it has settings of its own, as a message of role system may
	path   path
}

func (m *message) begins(kind string) bool { return len(m.blocks) > 0 && m.blocks[0]["type"] == kind }

func (m *message) endsWithServerResult() bool {
	if len(m.blocks) == 0 {
		return false
	}
	kind := str(m.blocks[len(m.blocks)-1]["type"])
	return strings.HasSuffix(kind, "_tool_result")
}

func (c *checker) add(rule string, p path, text string, args ...any) {
	r, ok := ruleOf()[rule]
	if !ok {
		panic("strictapi: no rule " + rule)
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	c.found = append(c.found, Violation{Rule: rule, Path: p.String(), Message: text, Basis: r.Basis, Status: http.StatusBadRequest, Type: "invalid_request_error"})
}

func (c *checker) addStatus(rule string, status int, kind, text string) {
	c.found = append(c.found, Violation{Rule: rule, Message: text, Basis: ruleOf()[rule].Basis, Status: status, Type: kind})
}

func (c *checker) checkHeader(h http.Header, size int) {
	if size > maxBody {
		c.addStatus("size", http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size")
	}
	if h.Get("X-Api-Key") == "" && !strings.HasPrefix(h.Get("Authorization"), "Bearer ") {
		c.addStatus("auth", http.StatusUnauthorized, "authentication_error", "x-api-key header is required")
	}
	switch v := h.Get("Anthropic-Version"); v {
	case "2023-06-01", "2023-01-01":
	case "":
		c.add("version", path{"anthropic-version"}, "header is required")
	default:
		c.add("version", path{"anthropic-version"}, "\"%s\" is not a valid version", v)
	}
	for _, b := range c.betas {
		if !slices.Contains(knownBetas, b) {
			c.add("beta-unknown", nil, "Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation or try again without the header.", b)
		}
	}
}

// jsonFault finds what Go's decoder lets through and the API does not.
func jsonFault(body []byte) string {
	if !utf8.Valid(body) {
		return "invalid UTF-8"
	}
	inString := false
	for i := 0; i < len(body); i++ {
		switch {
		case !inString:
			inString = body[i] == '"'
		case body[i] == '"':
			inString = false
		case body[i] == '\\':
			unit, ok := codeUnit(body[i:])
			if !ok {
				i++
				break
			}
			switch {
			case unit >= 0xD800 && unit < 0xDC00:
				low, ok := codeUnit(body[i+6:])
				if !ok || low < 0xDC00 || low > 0xDFFF {
					return fmt.Sprintf("no low surrogate in string: line 1 column %d (char %d)", i+1, i)
				}
				i += 11
			case unit >= 0xDC00 && unit <= 0xDFFF:
				return fmt.Sprintf("unexpected low surrogate in string: line 1 column %d (char %d)", i+1, i)
			default:
				i += 5
			}
		}
	}
	return ""
}

// codeUnit reads an escape of four hex digits.
func codeUnit(b []byte) (int, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n := 0
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | int(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// checkShape validates the body against the schema of the beta API, and asks for
// the header of everything in it that needs one.
func (c *checker) checkShape() {
	s := loadSchemas()
	s.validate(nil, s.Definitions["BetaMessage"], c.root, func(p path, message string) {
		if message == "Extra inputs are not permitted" && c.extra(p) {
			return
		}
		c.add("shape", p, message)
	})
	c.checkGates()
}

// extra reports whether a member that the SDK does not know is one that the API
// takes with a header that was sent.
func (c *checker) extra(p path) bool {
	for _, e := range extras {
		in := e.parent == "" && len(p) == 1 || e.parent != "" && slices.Contains(p[max(0, len(p)-3):len(p)-1], e.parent)
		if in && p[len(p)-1] == e.name && slices.Contains(c.betas, e.header) {
			return true
		}
	}
	return false
}

func (c *checker) checkGates() {
	need := func(field string, p path) {
		if g := gateOf(field); g != nil && !g.open(c.betas) {
			c.add("beta", p, "Extra inputs are not permitted (it needs anthropic-beta: %s)", g.headers[0])
		}
	}
	for _, field := range []string{"compaction", "context_management", "fallback_credit_token", "fallbacks", "mcp_servers", "output_format", "thread"} {
		if c.root[field] != nil {
			need(field, path{field})
		}
	}
	if get(c.root, "output_config", "task_budget") != nil {
		need("output_config.task_budget", path{"output_config", "task_budget"})
	}
	if get(c.root, "thinking", "block_binding") != nil {
		need("thinking.block_binding", path{"thinking", fmt.Sprint(get(c.root, "thinking", "type")), "block_binding"})
	}
	if get(c.root, "thinking", "display") == "updates" {
		need("thinking.display=updates", path{"thinking", "display"})
	}
	list, _ := c.root["tools"].([]any)
	for i, t := range list {
		if tool, ok := t.(map[string]any); ok {
			need("tool."+str(tool["type"]), path{"tools"}.at(i))
		}
	}
	list, _ = c.root["messages"].([]any)
	for i, m := range list {
		msg, _ := m.(map[string]any)
		for _, field := range []string{"clear_at", "output_config"} {
			if msg[field] != nil {
				need("messages.*."+field, path{"messages"}.at(i, field))
			}
		}
		blocks, _ := msg["content"].([]any)
		for j, b := range blocks {
			if block, ok := b.(map[string]any); ok {
				need("block."+str(block["type"]), path{"messages"}.at(i, "content", j))
			}
		}
	}
}

func gateOf(field string) *gate {
	for _, g := range gates {
		if g.field == field {
			return &g
		}
	}
	return nil
}

// gates lists what is in the SDK's beta types and not in its stable ones, and which
// header the documentation, the SDK's comments or Claude Code name for it.
var gates = []gate{
	{"compaction", []string{"compact-2026-09-04"}, "SDK: AnthropicBeta; docs: compaction"},
	{"context_management", []string{"context-management-2025-06-27", "compact-2026-01-12"}, "docs: context-editing, compaction"},
	{"fallback_credit_token", []string{"fallback-credit-2026-07-01", "fallback-credit-2026-06-01"}, "docs: fallback-credit"},
	{"fallbacks", []string{"server-side-fallback-2026-07-01", "server-side-fallback-2026-06-01"}, "docs: refusals-and-fallback"},
	{"mcp_servers", []string{"mcp-client-2026-09-15", "mcp-client-2025-11-20", "mcp-client-2025-04-04", "mcp-servers-2025-12-04"}, "docs: mcp-connector"},
	{"output_format", []string{"structured-outputs-2025-11-13", "structured-outputs-2025-12-15"}, "docs: structured-outputs"},
	{"thread", []string{"message-threads-2026-08-12"}, "SDK: AnthropicBeta"},
	{"output_config.task_budget", []string{"task-budgets-2026-03-13"}, "docs: task-budgets"},
	{"thinking.block_binding", []string{"thinking-binding-controls-2026-08-01"}, "SDK: BetaThinkingBlockBinding"},
	{"thinking.display=updates", []string{"thinking-display-updates-2026-08-18"}, "SDK: AnthropicBeta"},

	{"messages.*.clear_at", []string{"mid-conversation-system-clear-at-2026-08-21"}, "SDK: AnthropicBeta"},
	{"messages.*.output_config", []string{"mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"}, "SDK: AnthropicBeta; Claude Code"},
	{"block.tool_addition", []string{"mid-conversation-tool-changes-2026-07-01"}, "docs: mid-conversation-system-messages"},
	{"block.tool_removal", []string{"mid-conversation-tool-changes-2026-07-01"}, "docs: mid-conversation-system-messages"},
	{"block.mcp_tool_use", []string{"mcp-client-2026-09-15", "mcp-client-2025-11-20", "mcp-client-2025-04-04"}, "docs: mcp-connector"},
	{"block.mcp_tool_result", []string{"mcp-client-2026-09-15", "mcp-client-2025-11-20", "mcp-client-2025-04-04"}, "docs: mcp-connector"},
	{"block.mcp_tool_listing", []string{"mcp-client-2026-09-15"}, "SDK: BetaMCPToolListingBlockParam"},
	{"block.compaction", []string{"compact-2026-09-04", "compact-2026-01-12"}, "docs: compaction"},
	{"block.advisor_tool_result", []string{"advisor-tool-2026-03-01"}, "docs: tool-reference"},

	{"tool.advisor_20260301", []string{"advisor-tool-2026-03-01"}, "docs: tool-reference"},
	{"tool.mcp_toolset", []string{"mcp-client-2026-09-15", "mcp-client-2025-11-20"}, "docs: tool-reference"},
	{"tool.computer_20251124", []string{"computer-use-2025-11-24"}, "docs: tool-reference"},
	{"tool.computer_20250124", []string{"computer-use-2025-01-24"}, "docs: tool-reference"},
	{"tool.computer_20241022", []string{"computer-use-2024-10-22"}, "docs: computer-use-tool"},
	{"tool.bash_20241022", []string{"computer-use-2024-10-22"}, "docs: computer-use-tool"},
	{"tool.text_editor_20241022", []string{"computer-use-2024-10-22"}, "docs: computer-use-tool"},
}

// checkStrings looks for NUL in every string.
func (c *checker) checkStrings(p path, v any) {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			c.add("nul", p, "string contains NUL")
		}
	case []any:
		for i, e := range v {
			c.checkStrings(p.at(i), e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			c.checkStrings(p.at(k), v[k])
		}
	}
}

func (c *checker) checkModel() {
	name := str(c.root["model"])
	if name == "" {
		return
	}
	if c.model, c.known = modelOf(name); !c.known {
		c.addStatus("model", http.StatusNotFound, "not_found_error", "model: "+name)
	}
}

// modelOf returns what is known of a model, and whether it is known at all.
func modelOf(name string) (modelInfo, bool) {
	id := snapshot.ReplaceAllString(name, "")
	for _, m := range models {
		if m.id == id {
			return m, true
		}
	}
	return modelInfo{}, false
}

var models = []modelInfo{
	bound("claude-fable-5-2", offNever, false),
	bound("claude-mythos-5-2", offNever, false),
	bound("claude-fable-5-1", offNever, false),
	bound("claude-mythos-5-1", offNever, false),
	bound("claude-opus-5-5", offNever, false),
	bound("claude-sonnet-5-5", offNever, true), // whether it can be forced is not written down
	bound("claude-haiku-5-5", offLow, true),

	{id: "claude-fable-5", maxOutput: 128_000, context: k1M, adaptive: true, off: offNever, effort: effortAll, forced: true, systemTurns: true},
	{id: "claude-mythos-5", maxOutput: 128_000, context: k1M, adaptive: true, off: offNever, effort: effortAll, forced: true, systemTurns: true},
	{id: "claude-mythos-preview", maxOutput: 128_000, context: k1M, adaptive: true, manual: true, off: offNever, effort: effortMax},
	{id: "claude-opus-5", maxOutput: 128_000, context: k1M, adaptive: true, off: offLow, effort: effortAll, forced: true, systemTurns: true},
	{id: "claude-sonnet-5", maxOutput: 128_000, context: k1M, adaptive: true, effort: effortAll, forced: true},
	{id: "claude-opus-4-8", maxOutput: 128_000, context: k1M, adaptive: true, effort: effortAll, forced: true, systemTurns: true},
	{id: "claude-opus-4-7", maxOutput: 128_000, context: k1M, adaptive: true, effort: effortAll, forced: true},
	{id: "claude-opus-4-6", maxOutput: 128_000, context: k1M, adaptive: true, manual: true, effort: effortMax, sampling: true, forced: true},
	{id: "claude-sonnet-4-6", maxOutput: 128_000, context: k1M, adaptive: true, manual: true, effort: effortMax, sampling: true, forced: true},
	{id: "claude-opus-4-5", maxOutput: 64_000, context: k200, manual: true, effort: effortBasic, prefill: true, sampling: true, forced: true},
	{id: "claude-sonnet-4-5", maxOutput: 64_000, context: k200, manual: true, prefill: true, sampling: true, forced: true},
	{id: "claude-haiku-4-5", maxOutput: 64_000, context: k200, manual: true, prefill: true, sampling: true, forced: true},
}

var snapshot = lazyregexp.New(`-(20\d{6}|0|latest)$`)

// collect brings messages and tools into one form.
func (c *checker) collect() {
	list, _ := c.root["messages"].([]any)
	for i, m := range list {
		raw, ok := m.(map[string]any)
		if !ok {
			continue
		}
		msg := &message{role: str(raw["role"]), sets: raw["output_config"] != nil, path: path{"messages"}.at(i)}
		switch content := raw["content"].(type) {
		case string:
			msg.plain = true
			msg.blocks = []map[string]any{{"type": "text", "text": content}}
		case []any:
			for _, b := range content {
				block, _ := b.(map[string]any)
				msg.blocks = append(msg.blocks, block)
			}
		}
		c.messages = append(c.messages, msg)
	}
	list, _ = c.root["tools"].([]any)
	for _, t := range list {
		tool, _ := t.(map[string]any)
		c.tools = append(c.tools, tool)
	}
}

// checkTop checks the members of the body that stand for themselves.
func (c *checker) checkTop() {
	if c.known {
		c.checkMaxTokens()
	}
	if id := str(get(c.root, "metadata", "user_id")); utf8.RuneCountInString(id) > 256 {
		c.add("metadata", path{"metadata", "user_id"}, "String should have at most 256 characters")
	}
	stops, _ := c.root["stop_sequences"].([]any)
	for _, s := range stops {
		if strings.TrimSpace(str(s)) == "" {
			c.add("stop", path{"stop_sequences"}, "each stop sequence must contain non-whitespace")
		}
	}
	system, _ := c.root["system"].([]any)
	for i, s := range system {
		if block, ok := s.(map[string]any); ok && str(block["text"]) == "" {
			c.add("text-empty", path{"system"}.at(i), "text content blocks must be non-empty")
		}
	}
	if t, ok := get(c.root, "output_config", "task_budget", "total").(float64); ok && t < 20_000 {
		c.add("task-budget", path{"output_config", "task_budget", "total"}, "Input should be greater than or equal to 20000")
	}
	if schema, ok := get(c.root, "output_config", "format", "schema").(map[string]any); ok {
		if fault := outputFault(schema); fault != "" {
			c.add("strict-schema", path{"output_config", "format", "schema"}, fault)
		}
	}
	c.checkEdits()
}

func (c *checker) checkMaxTokens() {
	n, ok := c.root["max_tokens"].(float64)
	switch {
	case !ok:
	case n < 0:
		c.add("max-tokens", path{"max_tokens"}, "Input should be greater than or equal to 0")
	case n > c.model.maxOutput:
		c.add("max-tokens", path{"max_tokens"}, "%.0f > %.0f, which is the maximum allowed number of output tokens for %s", n, c.model.maxOutput, c.root["model"])
	case n == 0:
		forced := str(get(c.root, "tool_choice", "type"))
		if c.root["stream"] == true || get(c.root, "thinking", "type") == "enabled" || get(c.root, "output_config", "format") != nil || forced == "tool" || forced == "any" {
			c.add("max-tokens", path{"max_tokens"}, "0 cannot be combined with streaming, extended thinking, an output format or a forced tool")
		}
	}
}

func (c *checker) checkEdits() {
	edits, _ := get(c.root, "context_management", "edits").([]any)
	for i, e := range edits {
		edit, _ := e.(map[string]any)
		if edit["type"] != "clear_thinking_20251015" {
			continue
		}
		if i > 0 {
			c.add("context-edits", path{"context_management", "edits"}.at(i), "the `clear_thinking_20251015` strategy must be the first one")
		}
		if c.known && !c.model.thinks(str(get(c.root, "thinking", "type"))) {
			c.add("context-edits", path{"context_management", "edits"}.at(i), "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive")
		}
	}
}

// get returns a member of nested objects, nil if there is none.
func get(v any, names ...string) any {
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
