package main

// Why scenarios cannot apply to haft mcp serve. Most call something that only the suite's
// example server has; with that added, the package mcp/serve passes every one of them.
const (
	noSuchTool  = "calls a tool of the suite's example server; mcp/serve passes it with that tool"
	noPrompts   = "haft offers no prompts to hosts and does not declare them"
	noResources = "haft offers no resources to hosts and does not declare them: its tools read files"
	noLogging   = "haft does not send its log to hosts and does not declare logging"
)

// exceptions are the scenarios of a revision, and scenario:check, that cannot apply.
func exceptions(revision string) map[string]string {
	all := map[string]string{}
	add := func(why string, names ...string) {
		for _, name := range names {
			all[name] = why
		}
	}
	add(noSuchTool,
		"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
		"tools-call-error", "tools-call-with-progress", "json-schema-2020-12")
	add(noPrompts,
		"prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
		"completion-complete")
	add(noResources, "resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read")
	if revision == "2025-11-25" {
		add(noSuchTool,
			"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
			"server-sse-polling")
		add(noResources, "resources-subscribe", "resources-unsubscribe")
		add(noLogging, "logging-set-level", "tools-call-with-logging")
		return all
	}
	add(noSuchTool,
		"input-required-result-basic-elicitation", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
		"input-required-result-request-state", "input-required-result-multiple-input-requests", "input-required-result-multi-round",
		"input-required-result-missing-input-response", "input-required-result-result-type", "input-required-result-tampered-state",
		"input-required-result-capability-check", "input-required-result-ignore-extra-params",
		"tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error", "tasks-wire-fields",
		"http-custom-header-server-validation",
		"server-stateless:sep-2575-server-rejects-undeclared-capability", "server-stateless:sep-2575-missing-capability-http-400",
		"server-stateless:sep-2575-http-server-no-independent-requests-on-stream", "server-stateless:sep-2575-server-no-log-without-loglevel")
	add(noPrompts, "input-required-result-non-tool-request", "caching:sep-2549-prompts-list-caching-hints")
	add(noResources, "sep-2164-resource-not-found", "caching:sep-2549-resources-list-caching-hints", "caching:sep-2549-resources-templates-list-caching-hints")
	return all
}
