package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/config/settings"
)

// A ruling is how a value of a project's settings is treated.
type ruling struct {
	choice settings.Choice // without an item: what to do
	item   *subject        // counts if it is trusted
	never  string          // why it cannot count
}

// A subject is what an item is about, before it is hashed.
type subject struct {
	kind  Kind
	name  string
	text  string
	value any
	runs  []string // texts that may name files to run
	shell string   // a command for a shell

	guards bool // it is a hook that can keep something from happening
}

var (
	keep  = ruling{choice: settings.Keep}
	enter = ruling{choice: settings.Enter}
)

func never(format string, args ...any) ruling { return ruling{never: fmt.Sprintf(format, args...)} }

// A classifier rules on the values of one file. Listing items and filtering both
// use it, so that what is shown is what is asked for.
type classifier struct {
	hooks   map[string]settings.Hook // by path
	idle    map[string]bool          // keys that haft does not know or does not use
	ownMode string                   // the mode without the project
}

func newClassifier(f *settings.File, ownMode string) *classifier {
	c := &classifier{hooks: map[string]settings.Hook{}, idle: map[string]bool{}, ownMode: ownMode}
	for _, h := range settings.Of(f).Hooks() {
		c.hooks[strings.Join(h.Path, "/")] = h
	}
	for _, problem := range settings.Of(f).Problems() {
		if problem.Kind == settings.Unknown || problem.Kind == settings.Idle {
			c.idle[problem.Key] = true
		}
	}
	return c
}

func (c *classifier) rule(p settings.Place) ruling {
	key := p.Path[0]
	switch {
	case key == "permissions":
		return c.permissions(p)
	case key == "hooks":
		return c.hook(p)
	case len(p.Path) == 1 && slices.Contains(entered, key):
		return enter
	case key == "mcpServers":
		return jsonItem(Server, p.Path[1], p, true)
	case key == "env":
		return variable(p)
	case slices.Contains(harmless, key):
		return keep
	case slices.Contains(helpers, key):
		return jsonItem(Helper, key, p, true)
	case slices.Contains(neverKeys, key):
		return never("a project cannot set %s", key)
	case c.idle[key]: // there is nothing to agree to
		return ruling{choice: settings.Drop}
	}
	return jsonItem(Setting, key, p, false)
}

var (
	// entered are objects whose members are items.
	entered = []string{"mcpServers", "env"}
	// harmless keys can only take something away from the project itself, or choose among
	// what the user has or has trusted, or are only shown.
	harmless = []string{"$schema", "disabledMcpjsonServers", "deniedMcpServers", "outputStyle", "extraKnownMarketplaces"}
	// helpers are programs that a front end runs.
	helpers = []string{"statusLine", "subagentStatusLine", "fileSuggestion"}
	// neverKeys would let a project see credentials, choose its own trust, or
	// switch off what guards against it.
	neverKeys = []string{
		"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper",
		"forceLoginMethod", "forceLoginOrgUUID",
		"sandbox", "preview", "autoMode", "skipDangerousModePermissionPrompt", "skipAutoPermissionPrompt",
		"enableAllProjectMcpServers", "enabledMcpjsonServers", "allowedMcpServers",
		"disableAllHooks", "allowManagedHooksOnly", "allowManagedPermissionRulesOnly", "allowManagedMcpServersOnly",
		"allowedHttpHookUrls", "httpHookAllowedEnvVars", "lspServers",
		"pluginTrustMessage", "strictKnownMarketplaces", "blockedMarketplaces", "skipWebFetchPreflight",
	}
)

func (c *classifier) permissions(p settings.Place) ruling {
	if len(p.Path) == 1 {
		return enter
	}
	list := len(p.Path) == 2
	switch p.Path[1] {
	case "deny", "ask", "disableBypassPermissionsMode", "disableAutoMode":
		return keep
	case "allow", "additionalDirectories":
		if list {
			return enter
		}
		return textItem(map[string]Kind{"allow": AllowRule, "additionalDirectories": Directory}[p.Path[1]], p)
	case "defaultMode":
		return c.mode(p)
	}
	return never("permissions.%s is not a known key", p.Path[1])
}

// strictness orders the modes; an unknown one has none.
var strictness = map[string]int{"bypassPermissions": 1, "auto": 2, "acceptEdits": 3, "default": 4, "plan": 5, "dontAsk": 5}

// mode lets a project be stricter than the user, and never choose a mode that
// asks nobody.
func (c *classifier) mode(p settings.Place) ruling {
	mode, _ := decode(p.JSON).(string)
	switch {
	case strictness[mode] <= strictness["auto"]:
		return never("a project cannot choose the mode %q", mode)
	case strictness[mode] > strictness[c.ownMode]:
		return keep
	}
	return ruling{item: &subject{kind: Mode, name: mode, text: mode, value: mode}}
}

// hook rules on {"EVENT": [{"matcher": "…", "hooks": [{…}]}]}.
func (c *classifier) hook(p settings.Place) ruling {
	if len(p.Path) < 4 {
		return enter
	}
	if p.Path[3] == "matcher" {
		return keep
	}
	if len(p.Path) == 4 && p.Path[3] == "hooks" {
		return enter
	}
	h, ok := c.hooks[strings.Join(p.Path, "/")]
	if !ok {
		return never("this is not a hook that haft can run")
	}
	return ruling{item: hookSubject(h)}
}

func hookSubject(h settings.Hook) *subject {
	name := h.Event
	if h.Matcher != "" {
		name += " " + h.Matcher
	}
	return &subject{
		kind: Hook, name: name, text: string(h.JSON), shell: h.Line(),
		value: map[string]any{"event": h.Event, "matcher": h.Matcher, "hook": decode(h.JSON)}, guards: h.Guards(),
	}
}

func variable(p settings.Place) ruling {
	name := p.Path[1]
	if Risky(name) {
		return never("a project cannot set the variable %s", name)
	}
	r := textItem(Env, p)
	r.item.name = name
	r.item.text = name + "=" + r.item.text
	return r
}

func textItem(kind Kind, p settings.Place) ruling {
	text, ok := decode(p.JSON).(string)
	if !ok {
		return never("this value is not a string")
	}
	return ruling{item: &subject{kind: kind, name: text, text: text, value: text}}
}

func jsonItem(kind Kind, name string, p settings.Place, runs bool) ruling {
	s := &subject{kind: kind, name: name, text: string(p.JSON), value: decode(p.JSON)}
	if runs {
		s.runs = stringsIn(s.value)
		s.shell = commandLine(s.value)
	}
	return ruling{item: s}
}

// commandLine is what a server or a helper runs, as a command for a shell.
func commandLine(v any) string {
	object, _ := v.(map[string]any)
	command, _ := object["command"].(string)
	args, isServer := object["args"].([]any)
	if !isServer || command == "" {
		return command
	}
	words := []string{command}
	for _, a := range args {
		text, _ := a.(string)
		quoted, err := syntax.Quote(text, syntax.LangBash)
		if err != nil {
			return ""
		}
		words = append(words, quoted)
	}
	return strings.Join(words, " ")
}

// stringsIn returns every string in a value, always in the same order.
func stringsIn(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, stringsIn(e)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, stringsIn(v[name])...)
		}
	}
	return all
}
