package strictapi

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var (
	useID       = lazyregexp.New(`^[a-zA-Z0-9_-]+$`)
	serverUseID = lazyregexp.New(`^srvtoolu_[a-zA-Z0-9_]+$`)
)

const maxMessages = 100_000

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

// A turn is a row of messages of one role, which the API joins. Messages of role
// system do not end a turn.
type turn struct {
	role   string
	blocks []placed
	last   *message
}

type placed struct {
	block map[string]any
	path  path
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
