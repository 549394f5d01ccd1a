package settings

import (
	"slices"
	"strconv"
	"strings"
)

// A shape is what a value must look like.
type shape struct {
	kinds   string           // the kinds it may have, as in node; "" means any
	each    byte             // the kind of a list's or object's entries; 0 means any
	members map[string]shape // the names of an object; nil means any
	oneOf   []string         // the texts it may be; nil means any
	least   string           // the least whole number it may be; "" means any number
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

func (s shape) String() string {
	if s.each != 0 && s.kinds == "[" {
		return "a list of strings"
	}
	switch {
	case s.oneOf != nil:
		return "one of " + strings.Join(s.oneOf, ", ")
	case s.least != "":
		return "a whole number from " + s.least + " on"
	}
	return kindName(s.kinds[0])
}

// topLevel are the keys of a settings file. Those of Claude Code that haft does
// not act on are here too: a file that is shared must not look faulty.
var topLevel = map[string]shape{
	"$schema": aText,

	"permissions": {kinds: "{", members: map[string]shape{
		"allow": textList, "ask": textList, "deny": textList,
		"additionalDirectories":        textList,
		"defaultMode":                  aText,
		"disableBypassPermissionsMode": aText,
		"disableAutoMode":              aText,
	}},
	"allowManagedPermissionRulesOnly":   aFlag,
	"skipDangerousModePermissionPrompt": aFlag,
	"skipAutoPermissionPrompt":          aFlag,
	"autoMode":                          anObject,
	"sandbox":                           anObject,

	"env": {kinds: "{", each: '"'},

	"bash": {kinds: "{", members: map[string]shape{
		"passEnv": textList, "keepEscapes": aFlag, "endAtTimeout": aFlag,
	}},
	"agents": {kinds: "{", members: map[string]shape{
		"maxRunning": aCount, "maxDepth": aCount, "maxTokens": aCount, "firstTokenSeconds": aCount, "idleSeconds": aCount,
	}},
	"calls": {kinds: "{", members: map[string]shape{
		"afterFailure": {kinds: `"`, oneOf: []string{"continue", "cancel"}},
		"sameResults":  {kinds: "{", members: map[string]shape{"warn": aLimit, "stop": aLimit}},
	}},
	"webFetch":  {kinds: "{", members: map[string]shape{"allowPrivate": textList, "model": aText}},
	"webSearch": {kinds: "{", members: map[string]shape{"endpoint": aText}},

	"hooks":                  {kinds: "{", each: '['},
	"disableAllHooks":        aFlag,
	"allowManagedHooksOnly":  aFlag,
	"allowedHttpHookUrls":    textList,
	"httpHookAllowedEnvVars": textList,

	"mcp":                        {kinds: "{", members: map[string]shape{"log": aFlag, "deferPercent": aNumber}},
	"mcpServers":                 objectMap,
	"enableAllProjectMcpServers": aFlag,
	"enabledMcpjsonServers":      textList,
	"disabledMcpjsonServers":     textList,
	"allowedMcpServers":          aList,
	"deniedMcpServers":           aList,
	"allowManagedMcpServersOnly": aFlag,

	"apiKeyHelper":         aText,
	"awsAuthRefresh":       aText,
	"awsCredentialExport":  aText,
	"gcpAuthRefresh":       aText,
	"otelHeadersHelper":    aText,
	"proxyAuthHelper":      aText,
	"forceLoginMethod":     aText,
	"forceLoginOrgUUID":    anything,
	"statusLine":           anObject,
	"subagentStatusLine":   anObject,
	"fileSuggestion":       anObject,
	"companyAnnouncements": textList,

	"model":                 aText,
	"availableModels":       textList,
	"modelOverrides":        anObject,
	"effortLevel":           aText,
	"advisorModel":          aText,
	"fastMode":              aFlag,
	"alwaysThinkingEnabled": aFlag,
	"showThinkingSummaries": aFlag,
	"agent":                 aText,
	"outputStyle":           aText,
	"language":              aText,

	"cleanupPeriodDays":           aNumber,
	"plansDirectory":              aText,
	"autoMemoryDirectory":         aText,
	"autoMemoryEnabled":           aFlag,
	"claudeMdExcludes":            textList,
	"respectGitignore":            aFlag,
	"includeCoAuthoredBy":         aFlag,
	"includeGitInstructions":      aFlag,
	"attribution":                 anObject,
	"worktree":                    anObject,
	"enabledPlugins":              anObject,
	"extraKnownMarketplaces":      anObject,
	"strictKnownMarketplaces":     aList,
	"blockedMarketplaces":         aList,
	"pluginTrustMessage":          aText,
	"skipWebFetchPreflight":       aFlag,
	"autoUpdatesChannel":          aText,
	"minimumVersion":              aText,
	"defaultShell":                aText,
	"teammateMode":                aText,
	"spinnerTipsEnabled":          aFlag,
	"spinnerTipsOverride":         anObject,
	"spinnerVerbs":                anObject,
	"showTurnDuration":            aFlag,
	"terminalProgressBarEnabled":  aFlag,
	"prefersReducedMotion":        aFlag,
	"editorMode":                  aText,
	"theme":                       aText,
	"verbose":                     aFlag,
	"feedbackSurveyRate":          aNumber,
	"disableDeepLinkRegistration": anything,
	"disableSkillShellExecution":  aFlag,
	"channelsEnabled":             aFlag,
	"voiceEnabled":                aFlag,
	"tui":                         anything,
}

// mcpFile are the keys of a project's .mcp.json.
var mcpFile = map[string]shape{"$schema": aText, "mcpServers": objectMap}
