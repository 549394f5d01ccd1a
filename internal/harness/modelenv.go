package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/settings"
)

// The variables that hold keys of the Messages API.
const (
	keyVariable   = "ANTHROPIC_API_KEY"
	tokenVariable = "ANTHROPIC_AUTH_TOKEN"
)

// modelEnv reads the environment for whoever asks models: "env" of the settings goes
// before that of the process, unless it is a project's, which has no business with
// keys and where they are sent. Where there is no key, helped returns it.
func (p *Project) modelEnv(helped func() string) func(string) string {
	set := map[string]string{}
	for _, v := range p.Counts.Env() {
		if !v.Source.InProject() {
			set[v.Name] = v.Text.Text
		}
	}
	getenv := func(name string) string {
		if value, ok := set[name]; ok {
			return value
		}
		return os.Getenv(name)
	}
	return func(name string) string {
		value := getenv(name)
		if name != keyVariable || value != "" || getenv(tokenVariable) != "" {
			return value
		}
		return helped()
	}
}

// A keyHelper is the command of "apiKeyHelper", which prints a key. It runs at most
// once, and only if a key is missing.
type keyHelper struct {
	command string
	ran     bool
	key     string
	err     error
}

func (p *Project) keyHelper() *keyHelper {
	set, _ := p.Counts.Text("apiKeyHelper")
	return &keyHelper{command: set.Text}
}

// helperTime is how long a helper may take.
const helperTime = 30 * time.Second

func (h *keyHelper) run() string {
	if h.command == "" || h.ran {
		return h.key
	}
	h.ran = true
	ctx, cancel := context.WithTimeout(context.Background(), helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", h.command)
	cmd.WaitDelay = time.Second // what it has started may hold its output open
	out, err := cmd.Output()
	h.key = strings.TrimSpace(string(out))
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		h.err = fmt.Errorf("it took more than %s", helperTime)
	case errors.As(err, &failed):
		h.err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	case err != nil:
		h.err = err
	case h.key == "" || strings.ContainsAny(h.key, "\r\n"):
		h.err = errors.New("it must print the key, and nothing else, on one line")
	}
	if h.err != nil {
		h.key, h.err = "", fmt.Errorf("the apiKeyHelper of the settings gave no key: %w", h.err)
	}
	return h.key
}

// hooks are those of the settings and of the program. One that posts may use only the
// variables that "httpHookAllowedEnvVars" names, if it is set.
func (p *Project) hooks() []hook.Hook {
	counting := p.Counts.Hooks()
	if p.opts.IgnoreProjectHooks {
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
	return append(list, p.opts.Hooks...)
}

// mayRun says why a hook of the settings must not run now.
func (p *Project) mayRun(h *hook.Hook) error {
	if h.Func == nil && h.URL != "" && !p.Counts.HookURLs().Allow(h.URL) {
		return fmt.Errorf("allowedHttpHookUrls in the settings does not list its address %s", shownURL(h.URL))
	}
	return p.stillTrusted(h)
}
