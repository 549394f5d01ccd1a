package project

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
)

// The variables that hold keys of the Messages API.
const (
	KeyVariable   = "ANTHROPIC_API_KEY"
	tokenVariable = "ANTHROPIC_AUTH_TOKEN"
)

// A ModelEnv is the environment of whoever asks models: "env" of the settings goes before
// that of the process, unless it is a project's, which has no business with keys and
// where they are sent.
type ModelEnv struct {
	Helper *KeyHelper // of "apiKeyHelper"; it runs at most once
	set    map[string]string
}

// Get returns a variable; "" if it is not set.
func (e *ModelEnv) Get(name string) string {
	if value, ok := e.set[name]; ok {
		return value
	}
	return os.Getenv(name)
}

// WithKey is Get where a key that is missing is what helped returns. It is sent as a token, too:
// which of the two a gateway wants, it alone knows.
func (e *ModelEnv) WithKey(helped func() string) func(string) string {
	return func(name string) string {
		value := e.Get(name)
		if name != KeyVariable && name != tokenVariable || e.Get(KeyVariable) != "" || e.Get(tokenVariable) != "" {
			return value
		}
		return helped()
	}
}

// AsksAnthropic reports whether Anthropic itself is asked, which has a web search of its
// own, and not a server in its place.
func (e *ModelEnv) AsksAnthropic() bool {
	base := e.Get("ANTHROPIC_BASE_URL")
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "anthropic.com" || strings.HasSuffix(u.Hostname(), ".anthropic.com"))
}

// A KeyHelper is the command of "apiKeyHelper", which prints a key. It runs at most
// once, and only if a key is missing.
type KeyHelper struct {
	Command string // "" if the settings name none
	ran     bool
	Key     string // that it printed; "" if it did not run, or failed
	Err     error
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
	sh, err := ownprogram.Find("sh")
	if err != nil {
		h.Err = err
		return ""
	}
	cmd := exec.CommandContext(ctx, sh, "-c", h.Command)
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
		h.Err = errors.New("it must print only the key, on one line")
	}
	if h.Err != nil {
		h.Key, h.Err = "", fmt.Errorf("the apiKeyHelper in the settings returned no key: %w", h.Err)
	}
	return h.Key
}
