package project

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/haftdev/haft/settings"

	"github.com/haftdev/haft/hook"
)

// Hooks are those of the settings and of the program. One that posts may use only the
// variables that "httpHookAllowedEnvVars" names, if it is set.
func (p *Project) Hooks() []hook.Hook {
	counting := p.Counts.Hooks()
	if p.Options.IgnoreProjectHooks {
		counting = slices.DeleteFunc(counting, func(h settings.Hook) bool { return h.Source.InProject() })
	}
	list := hook.FromSettings(counting)
	names := p.Counts.HookVariables()
	for i, h := range list {
		if h.URL == "" {
			continue
		}
		list[i].Env = nil
		for _, name := range h.Env {
			if names.Allow(name) {
				list[i].Env = append(list[i].Env, name)
			}
		}
	}
	return append(list, p.Options.Hooks...)
}

// MayRun says why a hook of the settings must not run now.
func (p *Project) MayRun(h *hook.Hook) error {
	if h.Func == nil && h.URL != "" && !p.Counts.HookURLs().Allow(h.URL) {
		return fmt.Errorf("allowedHttpHookUrls in the settings does not list its address %s", ShownURL(h.URL))
	}
	return p.stillTrusted(h)
}

// ShownURL is an address without what may be secret in it.
func ShownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that cannot be read"
	}
	u.RawQuery = ""
	return u.Redacted()
}
