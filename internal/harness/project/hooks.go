package project

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/settings"
)

// Hooks are those of the settings and of the program, and what they run.
type Hooks struct {
	Files []string // files of the project that hooks run, those of the user's hooks included

	settings, counts *settings.Settings
	folder           *trust.Folder         // nil if there is nowhere to keep trust
	binding          *trust.Folder         // whose files hooks run; nil binds nothing
	bound            map[string]trust.Item // what hooks run, by their place, as it was at the start
	options          *Options
}

// newHooks notes what the hooks of a project run now.
func newHooks(p *Project) *Hooks {
	h := &Hooks{settings: p.Settings, counts: p.Counts, folder: p.Folder, binding: p.Folder, bound: make(map[string]trust.Item), options: &p.Options}
	if h.binding == nil {
		h.binding, _ = trust.NewStore("").Folder(p.Dir) // without it, nothing is bound
	}
	for _, set := range h.counts.Hooks() {
		if h.binding == nil {
			break
		}
		item := h.binding.Hook(set)
		h.bound[boundKey(set.Origin.String(), set.Event, set.Command, set.URL)] = item
		for _, name := range item.Files {
			h.Files = append(h.Files, filepath.Join(h.binding.Root().Path, name))
		}
	}
	return h
}

// boundKey tells hooks apart, also those of one line.
func boundKey(parts ...string) string { return strings.Join(parts, "\x00") }

// List returns the hooks. One that posts may use only the variables that
// "httpHookAllowedEnvVars" names, if it is set.
func (h *Hooks) List() []hook.Hook {
	counting := h.counts.Hooks()
	if h.options.IgnoreProjectHooks {
		counting = slices.DeleteFunc(counting, func(set settings.Hook) bool { return set.Source.InProject() })
	}
	list := hook.FromSettings(counting)
	names := h.counts.HookVariables()
	for i, one := range list {
		if one.URL == "" {
			continue
		}
		list[i].Env = nil
		for _, name := range one.Env {
			if names.Allow(name) {
				list[i].Env = append(list[i].Env, name)
			}
		}
	}
	return append(list, h.options.Hooks...)
}

// MayRun says why a hook must not run now.
func (h *Hooks) MayRun(one *hook.Hook) error {
	if one.Func == nil && one.URL != "" && !h.counts.HookURLs().Allow(one.URL) {
		return fmt.Errorf("allowedHttpHookUrls in the settings does not list its address %s", ShownURL(one.URL))
	}
	return h.stillTrusted(one)
}

// stillTrusted looks again at what a hook would run: a tool may have changed the script
// since the session began.
func (h *Hooks) stillTrusted(one *hook.Hook) error {
	if one.Func != nil {
		return nil // it is the program's own
	}
	was, known := h.bound[boundKey(one.Origin, string(one.Event), one.Command, one.URL)]
	if !known {
		return nil
	}
	counting := h.counts
	if h.folder != nil {
		var err error
		if counting, _, err = h.folder.Filter(h.settings); err != nil {
			return err
		}
	}
	for _, now := range counting.Hooks() {
		if now.Origin.String() != one.Origin || now.Event != string(one.Event) || now.Command != one.Command || now.URL != one.URL {
			continue
		}
		if !now.Source.InProject() && h.binding.Hook(now).Hash != was.Hash {
			return fmt.Errorf("what it runs (%s) has changed since the session began; look at it and start the session again", strings.Join(was.Files, ", "))
		}
		return nil
	}
	return fmt.Errorf("what it runs (%s) has changed since it was trusted; look at it and trust it again with: haft trust", strings.Join(was.Files, ", "))
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
