package strictapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	_ "image/png"
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

func (c *checker) checkCache() {
	var marks []mark
	note := func(p path, b map[string]any) {
		if m, ok := b["cache_control"].(map[string]any); ok {
			ttl := str(m["ttl"])
			if ttl == "" {
				ttl = "5m"
			}
			marks = append(marks, mark{p, ttl})
			if b["type"] == "text" && str(b["text"]) == "" {
				c.add("cache-empty", p.at("text"), "cache_control cannot be set for empty text blocks")
			}
		}
	}
	for i, t := range c.tools {
		note(path{"tools"}.at(i), t)
		if t["defer_loading"] == true && t["cache_control"] != nil {
			c.add("cache-deferred", path{"tools"}.at(i), "a tool with defer_loading=true cannot have cache_control")
		}
	}
	system, _ := c.root["system"].([]any)
	for i, s := range system {
		if b, ok := s.(map[string]any); ok {
			note(path{"system"}.at(i), b)
		}
	}
	for _, m := range c.messages {
		for j, b := range m.blocks {
			note(m.path.at("content", j), b)
			content, _ := b["content"].([]any)
			for k, e := range content {
				if sub, ok := e.(map[string]any); ok {
					note(m.path.at("content", j, "content", k), sub)
				}
			}
		}
	}
	n := len(marks)
	if c.root["cache_control"] != nil {
		n++
	}
	if n > maxMarks {
		c.add("cache-marks", nil, "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	short := false
	for _, m := range marks {
		if m.ttl == "1h" && short {
			c.add("cache-ttl", m.path.at("cache_control", "ttl"), "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.")
		}
		short = short || m.ttl == "5m"
	}
}

func (c *checker) checkMedia() {
	var pictures []picture
	images, pages := 0, 0
	visit := func(p path, b map[string]any) {
		switch b["type"] {
		case "image":
			images++
			if pic, ok := c.checkImage(p.at("image", "source"), b); ok {
				pictures = append(pictures, pic)
			}
		case "document":
			pages += c.checkPDF(p.at("document", "source"), b)
		}
	}
	for _, m := range c.messages {
		for j, b := range m.blocks {
			visit(m.path.at("content", j), b)
			content, _ := b["content"].([]any)
			for k, e := range content {
				if sub, ok := e.(map[string]any); ok {
					visit(m.path.at("content", j, "tool_result", "content", k), sub)
				}
			}
		}
	}
	for _, pic := range pictures {
		switch side := max(pic.width, pic.height); {
		case side > maxSide:
			c.add("image-size", pic.path, "At least one of the image dimensions exceed max allowed size: %d pixels", maxSide)
		case side > maxSideOfMany && images > manyImages:
			c.add("image-many", pic.path, "At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", maxSideOfMany)
		}
	}
	if c.known {
		if most := c.model.maxImages(); images > most {
			c.add("image-count", path{"messages"}, "too many images: %d > %d", images, most)
		}
		if most := c.model.maxImages(); pages > most {
			c.add("pdf-pages", path{"messages"}, "A maximum of %d PDF pages may be provided.", most)
		}
	}
}

func (c *checker) checkImage(p path, b map[string]any) (picture, bool) {
	if get(b, "source", "type") != "base64" {
		return picture{}, false
	}
	p = p.at("base64")
	text := str(get(b, "source", "data"))
	if len(text) > maxImageBytes {
		c.add("image-size", p, "image exceeds 10 MB maximum: %d bytes > %d bytes", len(text), maxImageBytes)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		c.add("image-data", p.at("data"), "Could not process image: the data is not base64 or empty")
		return picture{}, false
	}
	kind, width, height := imageKind(data)
	if kind == "" {
		c.add("image-data", p.at("data"), "Could not process image")
		return picture{}, false
	}
	if want := str(get(b, "source", "media_type")); want != kind {
		c.add("image-type", p.at("data"), "Image does not match the provided media type %s (it is %s)", want, kind)
	}
	return picture{p, width, height}, true
}

// checkPDF returns how many pages a document has, as far as that can be seen
// without unpacking it.
func (c *checker) checkPDF(p path, b map[string]any) int {
	if get(b, "source", "type") != "base64" || get(b, "source", "media_type") != "application/pdf" {
		return 0
	}
	data, err := base64.StdEncoding.DecodeString(str(get(b, "source", "data")))
	if err != nil || !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		c.add("pdf-data", p.at("base64", "data"), "The PDF specified was not valid.")
		return 0
	}
	return len(pdfPage.FindAll(data, -1))
}

func (c *checker) checkMessages() {
	if len(c.messages) == 0 {
		if _, ok := c.root["messages"].([]any); ok {
			c.add("messages", path{"messages"}, "at least one message is required")
		}
		return
	}
	if len(c.messages) > maxMessages {
		c.add("messages", path{"messages"}, "there is a limit of %d messages", maxMessages)
	}
	if first := c.messages[0]; first.role != "user" && !first.begins("compaction") {
		c.add("first", path{"messages"}, "first message must use the \"user\" role")
	}
	for i, m := range c.messages {
		c.checkContent(m, i == len(c.messages)-1)
	}
	c.checkSystemTurns()
	c.checkEnd()
	c.checkCalls()
	c.checkReferences()
}

// checkContent checks the blocks of a message by themselves.
func (c *checker) checkContent(m *message, last bool) {
	if len(m.blocks) == 0 || m.plain && str(m.blocks[0]["text"]) == "" {
		if (!last || m.role != "assistant") && !m.sets {
			c.add("content-empty", m.path, "all messages must have non-empty content except for the optional final assistant message")
		}
		return
	}
	for j, b := range m.blocks {
		p := m.path.at("content", j)
		switch b["type"] {
		case "text":
			c.checkText("messages", p, str(b["text"]))
		case "tool_use":
			c.checkUse(m, p, b)
		case "tool_result":
			c.checkResult(m, p, b)
		case "thinking", "redacted_thinking":
			if m.role != "assistant" {
				c.add("block-role", m.path, "`%s` blocks can only be in `assistant` messages", b["type"])
			}
			if b["type"] == "thinking" && str(b["signature"]) == "" {
				c.add("thinking-signature", p, "Invalid `signature` in `thinking` block")
			}
		case "search_result":
			if m.role == "assistant" {
				c.add("block-role", m.path, "`search_result` blocks can only be in `user` messages")
			}
		case "server_tool_use":
			if !serverUseID.MatchString(str(b["id"])) {
				c.add("use-id", p.at("server_tool_use", "id"), "String should match pattern '%s'", serverUseID)
			}
		}
	}
}

func (c *checker) checkText(where string, p path, text string) {
	switch {
	case text == "":
		c.add("text-empty", path{where}, "text content blocks must be non-empty (%s)", p)
	case strings.TrimSpace(text) == "":
		c.add("text-blank", path{where}, "text content blocks must contain non-whitespace text (%s)", p)
	}
}

func (c *checker) checkUse(m *message, p path, b map[string]any) {
	p = p.at("tool_use")
	if m.role != "assistant" {
		c.add("block-role", m.path, "`tool_use` blocks can only be in `assistant` messages")
	}
	if !useID.MatchString(str(b["id"])) {
		c.add("use-id", p.at("id"), "String should match pattern '%s'", useID)
	}
	switch name := str(b["name"]); {
	case name == "":
		c.add("use-name", p.at("name"), "String should have at least 1 character")
	case len([]rune(name)) > 200:
		c.add("use-name", p.at("name"), "String should have at most 200 characters")
	}
	if _, ok := b["input"].(map[string]any); !ok {
		c.add("use-input", p.at("input"), "Input should be a valid dictionary")
	}
}

func (c *checker) checkResult(m *message, p path, b map[string]any) {
	if m.role != "user" {
		c.add("block-role", m.path, "`tool_result` blocks can only be in `user` messages")
	}
	if !useID.MatchString(str(b["tool_use_id"])) {
		c.add("use-id", p.at("tool_result", "tool_use_id"), "String should match pattern '%s'", useID)
	}
	content, _ := b["content"].([]any)
	kinds := map[string]bool{}
	for k, e := range content {
		block, _ := e.(map[string]any)
		kind := str(block["type"])
		kinds[kind] = true
		if kind == "text" && strings.TrimSpace(str(block["text"])) == "" {
			c.add("result-text-empty", p.at("tool_result", "content", k), "text content blocks must be non-empty")
		}
		if kind != "text" && b["is_error"] == true {
			c.add("result-error-text", p.at("tool_result"), "all content must be type `text` if `is_error` is true")
		}
	}
	for kind, rule := range map[string]string{"search_result": "result-mixed", "tool_reference": "reference-mixed"} {
		if kinds[kind] && len(kinds) > 1 {
			c.add(rule, p.at("tool_result", "content"), "`%s` blocks cannot be mixed with other content types", kind)
		}
	}
}

// checkSystemTurns checks where messages of role system stand. A row of them
// counts as one.
func (c *checker) checkSystemTurns() {
	for i, m := range c.messages {
		if m.role != "system" {
			continue
		}
		if c.known && !c.model.systemTurns {
			c.add("system-turn", m.path, "role 'system' is not supported on this model")
		}
		before, after := i-1, i+1
		for before >= 0 && c.messages[before].role == "system" {
			before--
		}
		for after < len(c.messages) && c.messages[after].role == "system" {
			after++
		}
		switch {
		case before < 0:
			c.add("system-turn", m.path, "role 'system' must not be the first message; use the top-level 'system' parameter for the initial system prompt")
		case c.messages[before].role == "assistant" && !c.messages[before].endsWithServerResult():
			c.add("system-turn", m.path, "role 'system' must follow a 'user' message or an assistant message ending in a server tool result")
		case after < len(c.messages) && c.messages[after].role != "assistant":
			c.add("system-turn", m.path, "role 'system' must precede an 'assistant' message or end the array")
		}
	}
}

// checkEnd checks a conversation that ends with the assistant.
func (c *checker) checkEnd() {
	last := c.messages[len(c.messages)-1]
	if last.role != "assistant" || len(last.blocks) == 0 {
		return
	}
	end := last.blocks[len(last.blocks)-1]
	kind := str(end["type"])
	if c.known && !c.model.prefill && kind != "server_tool_use" && !strings.HasSuffix(kind, "_tool_result") && kind != "compaction" {
		c.add("prefill", nil, "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	switch kind {
	case "text":
		if text := str(end["text"]); text != strings.TrimRight(text, " \t\r\n") {
			c.add("trailing-space", path{"messages"}, "final assistant content cannot end with trailing whitespace")
		}
	case "thinking", "redacted_thinking":
		c.add("thinking-last", last.path, "The final block in an assistant message cannot be `%s`.", kind)
	}
}

func (c *checker) turns() []*turn {
	var out []*turn
	for _, m := range c.messages {
		if m.role == "system" {
			continue
		}
		if len(out) == 0 || out[len(out)-1].role != m.role {
			out = append(out, &turn{role: m.role})
		}
		t := out[len(out)-1]
		t.last = m
		for j, b := range m.blocks {
			t.blocks = append(t.blocks, placed{b, m.path.at("content", j)})
		}
	}
	return out
}

// checkCalls checks that calls and results belong together.
func (c *checker) checkCalls() {
	turns := c.turns()
	seen := map[string]bool{}
	for i, t := range turns {
		open := map[string]bool{}
		if i > 0 && turns[i-1].role == "assistant" {
			for _, b := range turns[i-1].blocks {
				if b.block["type"] == "tool_use" {
					open[str(b.block["id"])] = true
				}
			}
		}
		if t.role == "user" {
			c.checkResults(t, open)
			continue
		}
		var uses []string
		for _, b := range t.blocks {
			if b.block["type"] != "tool_use" {
				continue
			}
			id := str(b.block["id"])
			if seen[id] {
				c.add("use-unique", b.path, "`tool_use` ids must be unique")
			}
			seen[id] = true
			uses = append(uses, id)
		}
		c.checkServerPairs(t)
		c.checkAnswered(turns, i, uses)
	}
	if len(seen) > 0 && len(c.tools) == 0 {
		c.add("tools-absent", nil, "Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
}

func (c *checker) checkResults(t *turn, open map[string]bool) {
	answered := map[string]bool{}
	other := false
	for _, b := range t.blocks {
		if b.block["type"] != "tool_result" {
			other = true
			continue
		}
		id := str(b.block["tool_use_id"])
		switch {
		case !open[id]:
			c.add("result-known", b.path, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id)
		case answered[id]:
			c.add("result-single", b.path, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", id)
		case other:
			c.add("result-first", b.path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s (the results must come before other content)", id)
		}
		answered[id] = true
	}
}

func (c *checker) checkAnswered(turns []*turn, i int, uses []string) {
	answered := map[string]bool{}
	if i+1 < len(turns) {
		for _, b := range turns[i+1].blocks {
			if b.block["type"] == "tool_result" {
				answered[str(b.block["tool_use_id"])] = true
			}
		}
	}
	var missing []string
	for _, id := range uses {
		if !answered[id] && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		c.add("use-answered", turns[i].last.path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(missing, ", "))
	}
}

func (c *checker) checkServerPairs(t *turn) {
	calls := map[string]bool{}
	for _, b := range t.blocks {
		switch kind := str(b.block["type"]); {
		case kind == "server_tool_use":
			calls[str(b.block["id"])] = true
		case strings.HasSuffix(kind, "_tool_result") && kind != "mcp_tool_result":
			if id := str(b.block["tool_use_id"]); !calls[id] {
				c.add("server-pair", b.path, "unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", kind, id, kind)
			}
		}
	}
}

// checkReferences checks that the tools which results refer to are there.
func (c *checker) checkReferences() {
	names := map[string]bool{}
	for _, t := range c.tools {
		names[str(t["name"])] = true
	}
	for _, m := range c.messages {
		for j, b := range m.blocks {
			content, _ := b["content"].([]any)
			for k, e := range content {
				block, _ := e.(map[string]any)
				if block["type"] == "tool_reference" && !names[str(block["tool_name"])] {
					c.add("tool-reference", nil, "Tool reference '%s' not found in available tools (%s)", block["tool_name"], m.path.at("content", j, "content", k))
				}
			}
		}
	}
}

func (c *checker) checkThinking() {
	kind := str(get(c.root, "thinking", "type"))
	effort := str(get(c.root, "output_config", "effort"))
	if c.known {
		c.checkThinkingType(kind, effort)
		if effort != "" && !c.model.takesEffort(effort) {
			if c.model.effort == nil {
				c.add("effort", nil, "This model does not support the effort parameter.")
			} else {
				c.add("effort", path{"output_config", "effort"}, "level '%s' is not supported on this model", effort)
			}
		}
		c.checkSampling(kind)
	}
	if budget, ok := get(c.root, "thinking", "budget_tokens").(float64); ok {
		max, _ := c.root["max_tokens"].(float64)
		if budget < 1024 {
			c.add("thinking-budget", path{"thinking", "enabled", "budget_tokens"}, "Input should be greater than or equal to 1024")
		}
		if budget >= max && !c.interleaved() {
			c.add("thinking-budget", nil, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
	}
}

// interleaved reports whether thoughts between calls were asked for, with which a
// budget may exceed max_tokens.
func (c *checker) interleaved() bool {
	for _, b := range c.betas {
		if b == "interleaved-thinking-2025-05-14" {
			return len(c.tools) > 0
		}
	}
	return false
}

func (c *checker) checkThinkingType(kind, effort string) {
	m := &c.model
	switch {
	case kind == "enabled" && !m.manual:
		c.add("thinking-type", nil, "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")
	case kind == "adaptive" && !m.adaptive:
		c.add("thinking-type", nil, "adaptive thinking is not supported on this model")
	case kind == "disabled" && m.off == offNever:
		c.add("thinking-type", nil, "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")
	case kind == "disabled" && m.off == offLow && (effort == "xhigh" || effort == "max"):
		c.add("thinking-type", nil, "\"thinking.type.disabled\" is not supported with effort \"%s\" on this model.", effort)
	}
}

func (c *checker) checkSampling(kind string) {
	temperature, hasTemperature := c.root["temperature"].(float64)
	topP, hasTopP := c.root["top_p"].(float64)
	_, hasTopK := c.root["top_k"].(float64)
	thinks := c.model.thinks(kind)
	switch {
	case !c.model.sampling:
		if hasTemperature && temperature != 1 || hasTopP && topP != 1 || hasTopK {
			c.add("sampling", nil, "`temperature`, `top_p` and `top_k` are not supported for this model.")
		}
	case thinks && hasTemperature && temperature != 1:
		c.add("sampling", nil, "`temperature` may only be set to 1 when thinking is enabled.")
	case thinks && hasTopP && topP < 0.95:
		c.add("sampling", nil, "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	case thinks && hasTopK:
		c.add("sampling", nil, "`top_k` must be unset when thinking is enabled.")
	case hasTemperature && (temperature < 0 || temperature > 1):
		c.add("sampling", path{"temperature"}, "range: 0..1")
	}
}

func (c *checker) checkTools() {
	names := map[string]bool{}
	deferred := 0
	strict := &strictCount{}
	for i, t := range c.tools {
		p := path{"tools"}.at(i)
		name := str(t["name"])
		if name != "" && names[name] {
			c.add("tool-unique", path{"tools"}, "Tool names must be unique. (%s)", name)
		}
		names[name] = true
		if t["defer_loading"] == true {
			deferred++
		}
		if t["input_schema"] != nil {
			c.checkCustom(p.at("custom"), t)
		} else {
			c.checkServerTool(p.at(str(t["type"])), t)
		}
		if t["strict"] == true {
			strict.tools++
			if schema, ok := t["input_schema"].(map[string]any); ok {
				strict.add(schema)
				if fault := outputFault(schema); fault != "" {
					c.add("strict-schema", p.at("custom", "input_schema"), fault)
				}
			}
		}
	}
	if deferred > 0 && deferred == len(c.tools) {
		c.add("tool-defer", nil, allToolsDeferred)
	}
	if deferred > maxDeferred {
		c.add("tool-defer", path{"tools"}, "at most %d tools can be deferred", maxDeferred)
	}
	if schema, ok := get(c.root, "output_config", "format", "schema").(map[string]any); ok {
		strict.add(schema)
	}
	if strict.tools > maxStrictTools || strict.optional > maxStrictOption || strict.unions > maxStrictUnions {
		c.add("strict-schema", nil, "Schemas contain too many strict tools, optional parameters or parameters with union types (%d, %d, %d)", strict.tools, strict.optional, strict.unions)
	}
	c.checkChoice(names)
}

func (c *checker) checkCustom(p path, t map[string]any) {
	name := str(t["name"])
	switch {
	case !toolName.MatchString(name):
		c.add("tool-name", p.at("name"), "String should match pattern '%s'", toolName)
	case len(name) > 64:
		c.add("tool-name-64", p.at("name"), "names over 64 characters")
	}
	p = p.at("input_schema")
	schema, ok := t["input_schema"].(map[string]any)
	if !ok {
		return // that is a fault of the shape
	}
	for _, key := range []string{"oneOf", "allOf", "anyOf"} {
		if _, ok := schema[key]; ok {
			c.add("tool-schema-top", p, noUnionsOnTop)
			break
		}
	}
	if fault := schemaFault(schema); fault != "" {
		c.add("tool-schema", p, draftNotMet+" ("+fault+")")
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range sortedKeys(properties) {
		if !propertyKey.MatchString(key) {
			c.add("tool-schema-keys", p.at("properties"), "Property keys should match pattern '%s' (%q)", propertyKey, key)
		}
	}
}

func (c *checker) checkServerTool(p path, t map[string]any) {
	if t["allowed_domains"] != nil && t["blocked_domains"] != nil {
		c.add("web-domains", p, "only one of `allowed_domains` and `blocked_domains` can be given")
	}
	kind := str(t["type"])
	if t["input_examples"] != nil && (strings.HasPrefix(kind, "web_") || strings.HasPrefix(kind, "code_execution")) {
		c.add("tool-examples", p.at("input_examples"), "Extra inputs are not permitted")
	}
}

func (c *checker) checkChoice(names map[string]bool) {
	kind := str(get(c.root, "tool_choice", "type"))
	if kind == "" {
		return
	}
	p := path{"tool_choice"}
	if len(c.tools) == 0 && kind != "none" {
		c.add("tool-choice", p, "tool_choice may only be specified while providing tools")
		return
	}
	if kind != "tool" && kind != "any" {
		return
	}
	if name := str(get(c.root, "tool_choice", "name")); kind == "tool" && !names[name] {
		c.add("tool-choice", p, "Tool '%s' not found in provided tools", name)
	}
	if get(c.root, "thinking", "type") == "enabled" {
		c.add("tool-choice", nil, "Thinking may not be enabled when tool_choice forces tool use.")
	}
	if c.known && !c.model.forced {
		c.add("tool-choice", p, "type \"%s\" is not supported for this model. Use \"auto\" or \"none\".", kind)
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
