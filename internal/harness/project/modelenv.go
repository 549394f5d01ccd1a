package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The variables that hold keys of the Messages API.
const (
	KeyVariable   = "ANTHROPIC_API_KEY"
	tokenVariable = "ANTHROPIC_AUTH_TOKEN"
)

// ModelEnv reads the environment for whoever asks models: "env" of the settings goes
// before that of the process, unless it is a project's, which has no business with
// keys and where they are sent. Where there is no key, helped returns it.
func (p *Project) ModelEnv(helped func() string) func(string) string {
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
		if name != KeyVariable || value != "" || getenv(tokenVariable) != "" {
			return value
		}
		return helped()
	}
}

// A KeyHelper is the command of "apiKeyHelper", which prints a key. It runs at most
// once, and only if a key is missing.
type KeyHelper struct {
	Command string
	ran     bool
	Key     string // that it printed; "" if it did not run, or failed
	Err     error
}

// KeyHelper returns the helper that the settings name; its Command is "" if they name none.
func (p *Project) KeyHelper() *KeyHelper {
	set, _ := p.Counts.Text("apiKeyHelper")
	return &KeyHelper{Command: set.Text}
}

// helperTime is how long a helper may take.
const helperTime = 30 * time.Second

// Run returns the key; "" if there is none.
func (h *KeyHelper) Run() string {
	if h.Command == "" || h.ran {
		return h.Key
	}
	h.ran = true
	ctx, cancel := context.WithTimeout(context.Background(), helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Command)
	cmd.WaitDelay = time.Second // what it has started may hold its output open
	out, err := cmd.Output()
	h.Key = strings.TrimSpace(string(out))
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		h.Err = fmt.Errorf("it took more than %s", helperTime)
	case errors.As(err, &failed):
		h.Err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	case err != nil:
		h.Err = err
	case h.Key == "" || strings.ContainsAny(h.Key, "\r\n"):
		h.Err = errors.New("it must print the key, and nothing else, on one line")
	}
	if h.Err != nil {
		h.Key, h.Err = "", fmt.Errorf("the apiKeyHelper of the settings gave no key: %w", h.Err)
	}
	return h.Key
}
