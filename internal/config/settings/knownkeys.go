package settings

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A shape is what a value must look like.
type shape struct {
	kinds   string           // the kinds it may have, as in node; "" means any
	each    byte             // the kind of a list's or object's entries; 0 means any
	but     map[string]shape // the entries that are not of the kind each; nil means none
	members map[string]shape // the names of an object; nil means any
	oneOf   []string         // the texts it may be; nil means any
	least   string           // the least whole number it may be; "" means any number
	effect  effect
}

// An effect is what haft makes of a value.
type effect int

const (
	acts   effect = iota // what it says
	idles                // nothing
	unkept               // nothing, though it should guard something
)

// idle is a shape that haft knows and does nothing about.
func idle(s shape) shape {
	s.effect = idles
	return s
}

// noGuard is a key that should guard something and does not: users who rely on it must be
// told.
func noGuard(s shape) shape {
	s.effect = unkept
	return s
}

var (
	aFlag     = shape{kinds: "tf"}
	aText     = shape{kinds: `"`}
	aNumber   = shape{kinds: "0"}
	aCount    = shape{kinds: "0", least: "0"}
	aLimit    = shape{kinds: "0", least: "-1"} // -1 is none
	textList  = shape{kinds: "[", each: '"'}
	anObject  = shape{kinds: "{"}
	objectMap = shape{kinds: "{", each: '{'}
	aList     = shape{kinds: "["}
	anything  = shape{}
)

func (s shape) String() string {
	if s.each != 0 && s.kinds == "[" {
		return "a list of strings"
	}
	switch {
	case s.oneOf != nil:
		return "one of " + strings.Join(s.oneOf, ", ")
	case s.least != "":
		return "a whole number of at least " + s.least
	}
	return kindName(s.kinds[0])
}

// checkEffect reports a value that has no effect.
func (s shape) checkEffect(f *File, key string, m member) {
	off := m.value.child("enabled")
	if m.value.kind == 'f' || off != nil && off.kind == 'f' {
		return // it asks for nothing
	}
	switch s.effect {
	case idles:
		f.report(Idle, m.line, key, "has no effect in haft")
	case unkept:
		f.report(Ignored, m.line, key, "has no effect in haft, so what it should protect is not protected")
	}
}

func (s shape) fits(n *node) bool {
	if s.kinds == "" {
		return true
	}
	if !strings.Contains(s.kinds, string(n.kind)) {
		return false
	}
	switch {
	case s.oneOf != nil:
		text, _ := n.text()
		return slices.Contains(s.oneOf, text)
	case s.least != "":
		least, _ := strconv.Atoi(s.least)
		number, err := strconv.Atoi(string(n.literal))
		return err == nil && number >= least
	}
	return true
}

// not says what a value is instead of what it must be.
func (s shape) not(n *node) string {
	if (s.oneOf != nil || s.least != "") && strings.Contains(s.kinds, string(n.kind)) {
		return string(n.literal)
	}
	return kindName(n.kind)
}

// topLevel are the keys of a settings file. It includes keys of Claude Code that haft does
// not use: a shared file must not look faulty.
var topLevel = sync.OnceValue(func() map[string]shape {
	return map[string]shape{
		"$schema": aText,

		"permissions": {kinds: "{", members: map[string]shape{
			"allow": textList, "ask": textList, "deny": textList,
			"additionalDirectories":        textList,
			"defaultMode":                  aText,
			"disableBypassPermissionsMode": aText,
			"disableAutoMode":              aText,
		}},
		"allowManagedPermissionRulesOnly":   aFlag,
		"skipDangerousModePermissionPrompt": idle(aFlag),
		"skipAutoPermissionPrompt":          idle(aFlag),
		"autoMode":                          noGuard(anObject),
		"sandbox":                           {kinds: "{", members: sandboxKeys()},

		"preview": {kinds: `"`, oneOf: []string{"off", "ask", "auto"}},

		"env": {kinds: "{", each: '"'},

		"bash": {kinds: "{", members: map[string]shape{
			"passEnv": textList, "keepEscapes": aFlag, "endAtTimeout": aFlag,
		}},
		"agents": {kinds: "{", members: map[string]shape{
			"maxRunning": aCount, "maxDepth": aCount, "maxTokens": aCount, "firstTokenSeconds": aCount, "idleSeconds": aCount,
			"background": aFlag, "cwd": aFlag,
		}},
		"calls": {kinds: "{", members: map[string]shape{
			"afterFailure": {kinds: `"`, oneOf: []string{"continue", "cancel"}},
			"sameResults":  {kinds: "{", members: map[string]shape{"warn": aLimit, "stop": aLimit}},
		}},
		"search":    {kinds: "{", members: map[string]shape{"noSavedIndex": aFlag}},
		"todoTools": {kinds: `"`, oneOf: []string{"auto", "tasks", "todos", "none"}},
		"webFetch":  {kinds: "{", members: map[string]shape{"allowPrivate": textList, "model": aText}},
		"webSearch": {kinds: "{", members: map[string]shape{"endpoint": aText}},

		"hooks":                  {kinds: "{", each: '[', but: map[string]shape{failClosed: aFlag}},
		"disableAllHooks":        aFlag,
		"allowManagedHooksOnly":  aFlag,
		"allowedHttpHookUrls":    textList,
		"httpHookAllowedEnvVars": textList,

		"mcp":                        {kinds: "{", members: map[string]shape{"log": aFlag, "deferPercent": aNumber, "sampling": aFlag, "samplingTokens": aNumber, "wait": aNumber, "registry": aText}},
		"lspServers":                 objectMap,
		"mcpServers":                 objectMap,
		"enableAllProjectMcpServers": aFlag,
		"enabledMcpjsonServers":      idle(textList),
		"disabledMcpjsonServers":     textList,
		"allowedMcpServers":          aList,
		"deniedMcpServers":           aList,
		"allowManagedMcpServersOnly": aFlag,

		"apiKeyHelper":         aText,
		"awsAuthRefresh":       idle(aText),
		"awsCredentialExport":  idle(aText),
		"gcpAuthRefresh":       idle(aText),
		"otelHeadersHelper":    idle(aText),
		"proxyAuthHelper":      idle(aText),
		"forceLoginMethod":     noGuard(aText),
		"forceLoginOrgUUID":    noGuard(anything),
		"statusLine":           anObject,
		"subagentStatusLine":   idle(anObject),
		"fileSuggestion":       idle(anObject),
		"companyAnnouncements": idle(textList),

		"model":                 aText,
		"availableModels":       noGuard(textList),
		"modelOverrides":        idle(anObject),
		"effortLevel":           aText,
		"advisorModel":          idle(aText),
		"fastMode":              idle(aFlag),
		"alwaysThinkingEnabled": aFlag,
		"showThinkingSummaries": idle(aFlag),
		"agent":                 aText,
		"outputStyle":           aText,
		"language":              idle(aText),
		"uiLanguage":            {kinds: `"`, oneOf: []string{"en", "zh"}},

		"cleanupPeriodDays":           idle(aNumber),
		"plansDirectory":              idle(aText),
		"autoMemoryDirectory":         idle(aText),
		"autoMemoryEnabled":           idle(aFlag),
		"claudeMdExcludes":            textList,
		"respectGitignore":            idle(aFlag),
		"includeCoAuthoredBy":         idle(aFlag),
		"includeGitInstructions":      idle(aFlag),
		"attribution":                 idle(anObject),
		"worktree":                    idle(anObject),
		"enabledPlugins":              anObject,
		"plugins":                     {kinds: "{", members: map[string]shape{"checkForUpdates": aFlag}},
		"extraKnownMarketplaces":      anObject,
		"strictKnownMarketplaces":     noGuard(aList),
		"blockedMarketplaces":         noGuard(aList),
		"pluginTrustMessage":          idle(aText),
		"skipWebFetchPreflight":       idle(aFlag),
		"autoUpdatesChannel":          idle(aText),
		"minimumVersion":              noGuard(aText),
		"defaultShell":                idle(aText),
		"teammateMode":                idle(aText),
		"spinnerTipsEnabled":          idle(aFlag),
		"spinnerTipsOverride":         idle(anObject),
		"spinnerVerbs":                idle(anObject),
		"showTurnDuration":            idle(aFlag),
		"terminalProgressBarEnabled":  idle(aFlag),
		"prefersReducedMotion":        idle(aFlag),
		"editorMode":                  {kinds: `"`, oneOf: []string{"normal", "vim"}},
		"theme":                       {kinds: `"`, oneOf: []string{"auto", "dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi", "plain"}},
		"verbose":                     idle(aFlag),
		"feedbackSurveyRate":          idle(aNumber),
		"disableDeepLinkRegistration": idle(anything),
		"disableSkillShellExecution":  aFlag,
		"channelsEnabled":             idle(aFlag),
		"voiceEnabled":                idle(aFlag),
		"tui":                         idle(anything),
	}
})

// mcpFile are the keys of a project's .mcp.json.
func mcpFile() map[string]shape {
	return map[string]shape{"$schema": aText, "mcpServers": objectMap}
}
