package project

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/haftdev/haft/hook"
)

// Hooks are those of the settings and of the program. One that posts may use only the
// variables that "httpHookAllowedEnvVars" names, if it is set.
func (p *Project) Hooks() []hook.Hook {
	list := hook.FromSettings(p.Counts.Hooks())
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

// stillTrusted looks again at what a project's hook would run: a tool may have
// changed the script since the session began.
func (p *Project) stillTrusted(h *hook.Hook) error {
	if h.Func != nil || p.Folder == nil {
		return nil // it is the program's own, or nothing of the project counts at all
	}
	now, _, err := p.Folder.Filter(p.Settings)
	if err != nil {
		return err
	}
	for _, counting := range hook.FromSettings(now.Hooks()) {
		if counting.Origin == h.Origin && counting.Event == h.Event && counting.Command == h.Command && counting.URL == h.URL {
			return nil
		}
	}
	return errors.New("what it runs has changed since it was trusted; look at it and trust it again with: haft trust")
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
