package project

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
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
		h.bound[boundKey(set.Args, set.Origin.String(), set.Event, set.Command, set.URL, set.Prompt)] = item
		for _, name := range item.Files {
			h.Files = append(h.Files, filepath.Join(h.binding.Root().Path, name))
		}
	}
	return h
}

// boundKey tells hooks apart, also those of one line.
func boundKey(args []string, parts ...string) string {
	return strings.Join(append(parts, args...), "\x00")
}

// List returns the hooks. One that posts may use only the variables that
// "httpHookAllowedEnvVars" names, if it is set.
func (h *Hooks) List() []hook.Hook {
	return append(h.runnable(h.counts.Hooks()), h.options.Hooks...)
}

func (h *Hooks) runnable(counting []settings.Hook) []hook.Hook {
	if h.options.IgnoreProjectHooks {
		counting = slices.DeleteFunc(counting, func(set settings.Hook) bool { return set.Source.InProject() })
	}
	list := HooksOf(counting)
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
	return list
}

// A Text is a skill, a command or an agent that brings hooks.
type Text struct {
	// Name is what people know it by, such as the skill review; Path is its file.
	Name, Path string
	// Hooks are written as in a settings file, for commands with Vars.
	Hooks *settings.File
	Vars  map[string]string
	// Digest stands for what it says, and Now returns that of what it says by now.
	Digest string
	Now    func() (string, error)
}

// ForText returns the hooks that a skill or command defines, if the settings allow hooks. Each
// is disabled once its text or program changes.
func (h *Hooks) ForText(t Text) []hook.Hook {
	if t.Hooks == nil {
		return nil
	}
	counting := slices.DeleteFunc(settings.Of(append(slices.Clone(h.counts.Files()), t.Hooks)...).Hooks(), func(set settings.Hook) bool { return set.File != t.Path })
	var list []hook.Hook
	for _, set := range counting {
		for _, one := range h.runnable([]settings.Hook{set}) {
			var said struct{ Once bool }
			_ = json.Unmarshal(set.JSON, &said) // anything but true is no
			one.Once, one.Vars = said.Once, t.Vars
			one.Check = h.unchanged(t, set)
			list = append(list, one)
		}
	}
	return list
}

// unchanged returns what tells whether a hook of a text may still run: a tool may have
// changed the text or a script since it was loaded.
func (h *Hooks) unchanged(t Text, set settings.Hook) func() error {
	fill := func(text string) string {
		return os.Expand(text, func(name string) string {
			if value, ok := t.Vars[name]; ok {
				return value
			}
			return "${" + name + "}"
		})
	}
	set.Command, set.Args = fill(set.Command), slices.Clone(set.Args)
	for i := range set.Args {
		set.Args[i] = fill(set.Args[i])
	}
	files := func() string {
		if h.binding == nil {
			return ""
		}
		return h.binding.Hook(set).Hash
	}
	was := files()
	return func() error {
		now, err := t.Now()
		if err != nil {
			return fmt.Errorf("%s has changed since it was trusted, or is gone; review it and trust it again with: haft trust", t.Name)
		}
		if now != t.Digest || files() != was {
			return fmt.Errorf("%s, or what its hooks run, has changed since it was loaded; review it and load it again", t.Name)
		}
		return nil
	}
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
	was, known := h.bound[boundKey(one.Args, one.Origin, string(one.Event), one.Command, one.URL, one.Prompt)]
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
	trusted := false
	for _, now := range counting.Hooks() { // several on one line may differ in their matcher only
		if now.Origin.String() != one.Origin || now.Event != string(one.Event) || now.Command != one.Command || !slices.Equal(now.Args, one.Args) || now.URL != one.URL || now.Prompt != one.Prompt {
			continue
		}
		if now.Source.InProject() || h.binding.Hook(now).Hash == was.Hash {
			return nil
		}
		trusted = true
	}
	if trusted {
		return fmt.Errorf("what it runs (%s) has changed since the session started; review it and restart the session", strings.Join(was.Files, ", "))
	}
	return fmt.Errorf("what it runs (%s) has changed since it was trusted; review it and trust it again with: haft trust", strings.Join(was.Files, ", "))
}

// named returns the files that a value of the settings names to be run.
func (h *Hooks) named(value json.RawMessage) []string {
	if h.binding == nil {
		return nil
	}
	return h.binding.Named(value)
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

// HooksOf returns the hooks of settings files as values that a runner takes.
func HooksOf(list []settings.Hook) []hook.Hook {
	var hooks []hook.Hook
	for _, h := range list {
		hooks = append(hooks, hook.Hook{
			Event: hook.Event(h.Event), Matcher: h.Matcher, If: h.If,
			Command: h.Command, Args: h.Args, URL: h.URL, Headers: h.Headers, Prompt: h.Prompt, Model: h.Model, Agentic: h.Type == "agent",
			Timeout: h.Timeout, Block: h.Blocks(), Required: h.Required(), Fault: h.Fault, Async: h.Async, Preview: h.Preview, Env: h.Env,
			Origin: h.Origin.String(),
		})
	}
	return hooks
}
