package strictapi

import (
	"net/http"
	"slices"
	"strings"
)

// A gate is a part of a request that needs a beta header.
type gate struct {
	// field is a path in the schema of the body: parts of it in the order of the
	// nesting, with the constant of a tagged object as «type=x».
	field string
	// headers are the names of which one must be sent.
	headers []string
	source  string
}

func (g *gate) open(betas []string) bool {
	return slices.ContainsFunc(g.headers, func(h string) bool { return slices.Contains(betas, h) })
}

// free lists what only the beta types have and what needs no header.
var free = map[string]string{
	"block.fallback": "docs: fallback-credit: accepted on any request without a beta header",
}

// extras are members that the SDK does not type and that the API takes with a
// header, known from Claude Code's requests.
var extras = []struct {
	parent, name, header string
}{
	{"cache_control", "scope", "prompt-caching-scope-2026-01-05"},
	{"cache_control", "evict", "prompt-caching-evict-2026-05-12"},
	{"", "cache_keepalive", "cache-keepalive-2026-09-03"},
	{"", "context_hint", "context-hint-2026-04-09"},
	{"", "safeguards", "dangerous-tool-use-2026-09-03"},
	{"thinking", "resumption", "thinking-resumption-2026-07-17"},
}

// knownBetas are the names that the API takes: those of the SDK, and those that
// Claude Code sends.
var knownBetas = strings.Fields(`
message-batches-2024-09-24 prompt-caching-2024-07-31 computer-use-2024-10-22 computer-use-2025-01-24 pdfs-2024-09-25
token-counting-2024-11-01 token-efficient-tools-2025-02-19 output-128k-2025-02-19 files-api-2025-04-14 mcp-client-2025-04-04
mcp-client-2025-11-20 dev-full-thinking-2025-05-14 interleaved-thinking-2025-05-14 code-execution-2025-05-22
extended-cache-ttl-2025-04-11 context-1m-2025-08-07 context-management-2025-06-27 model-context-window-exceeded-2025-08-26
skills-2025-10-02 fast-mode-2026-02-01 output-300k-2026-03-24 user-profiles-2026-03-24 user-profiles-2026-08-18
user-profiles-2026-09-04 advisor-tool-2026-03-01 managed-agents-2026-04-01 cache-diagnosis-2026-04-07 dreaming-2026-04-21
thinking-token-count-2026-05-13 server-side-fallback-2026-06-01 server-side-fallback-2026-07-01 fallback-credit-2026-06-01
fallback-credit-2026-07-01 agent-memory-2026-07-22 mid-conversation-tool-changes-2026-07-01 compact-2026-01-12
computer-use-2025-11-24 mcp-tunnels-2026-06-22 structured-outputs-2025-11-13 task-budgets-2026-03-13
thinking-display-updates-2026-08-18 ce-user-management-2026-07-13 mid-conversation-output-config-2026-07-01
thinking-binding-controls-2026-08-01 mid-conversation-system-clear-at-2026-08-21 compact-2026-09-04 inline-tools-2026-09-15
mcp-client-2026-09-15 ce-plugins-2026-09-01 spend-limit-reads-2026-09-26 telemetry-destinations-2026-08-11
webhooks-2026-10-07 admin-user-sign-out-2026-10-08 message-threads-2026-08-12 analytics-usage-cost-2026-08-24
experimental-claude-tag-2026-10-21

fine-grained-tool-streaming-2025-05-14 web-fetch-2025-09-10 code-execution-2025-08-25 search-results-2025-06-09
claude-code-20250219 oauth-2025-04-20 structured-outputs-2025-12-15 web-search-2025-03-05 advanced-tool-use-2025-11-20
tool-search-tool-2025-10-19 tool-examples-2025-10-29 effort-2025-11-24 prompt-caching-scope-2026-01-05
prompt-caching-evict-2026-05-12 cache-keepalive-2026-09-03 redact-thinking-2026-02-12 thinking-resumption-2026-07-17
afk-mode-2026-01-31 context-hint-2026-04-09 mcp-servers-2025-12-04 environments-2025-11-01 ccr-byoc-2025-07-29
tool-provenance-2026-10-26 mid-conversation-system-2026-04-07 per-turn-control-2026-07-01 timing-2026-09-09
program-use-case-ids-2026-09-17 auto-mode-classifier-2026-07-16 claude-code-side-query-2026-09-29
dangerous-tool-use-2026-09-03 summarize-connector-text-2026-03-13 token-efficient-tools-2026-03-28
`)

// betasOf returns the names in the anthropic-beta headers.
func betasOf(h http.Header) []string {
	var out []string
	for _, line := range h.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}
