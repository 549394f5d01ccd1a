package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/model"
)

// credentials is the file with a user's choice of model, as environment variables. They are
// used if the environment has none of them.
type credentials string

func credentialsFile() credentials {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return credentials(filepath.Join(home, ".haft", "credentials.json"))
}

// modelVariables choose a model's server. If the environment has one of them, nothing in
// the file is used: the key for one server must never be sent to another.
var modelVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"}

// foreign returns a variable in the user's own environment that chooses the server; "" if
// there is none. The file would be ignored in that case.
func (c credentials) foreign() string {
	kept := c.read()
	for _, name := range modelVariables {
		if v := os.Getenv(name); v != "" && v != kept[name] {
			return name
		}
	}
	return ""
}

// use puts the stored values into the environment of this process, where everything that
// calls models looks. Shell commands do not inherit them; see package shellrun.
func (c credentials) use() {
	for _, name := range modelVariables {
		if os.Getenv(name) != "" {
			return
		}
	}
	kept := c.read()
	for _, name := range append([]string{"ANTHROPIC_MODEL", "OPENAI_MODEL"}, modelVariables...) {
		if v := kept[name]; v != "" && os.Getenv(name) == "" {
			os.Setenv(name, v)
		}
	}
}

// read returns the stored values; none if nothing was set up.
func (c credentials) read() (kept map[string]string) {
	if raw, err := os.ReadFile(string(c)); err == nil {
		_ = json.Unmarshal(raw, &kept) // a file that is damaged keeps nothing
	}
	return kept
}

// Needed reports whether a conversation could not be opened because there is no model.
func (c credentials) Needed(err error) bool { return errors.Is(err, provider.ErrNotConfigured) }

// Try asks the model for a word.
func (c credentials) Try(ctx context.Context, env map[string]string) (string, error) {
	if name := c.foreign(); name != "" {
		return "", fmt.Errorf("%s is set in your environment and overrides what is saved here; unset it and restart haft", name)
	}
	return askForAWord(ctx, &provider.Options{MaxRetries: -1, Getenv: func(name string) string { return env[name] }})
}

func askForAWord(ctx context.Context, opts *provider.Options) (string, error) {
	m, info, err := provider.Open(opts)
	if err != nil {
		return "", err
	}
	history := new(model.History)
	if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("Answer with the one word: ready")}}); err != nil {
		return "", err
	}
	var said strings.Builder
	for ev, err := range m.Stream(ctx, &model.Request{Model: cmp.Or(info.Small, info.Model), Messages: history, MaxTokens: 200}) {
		if err != nil {
			return "", err
		}
		if d, ok := ev.(model.Delta); ok && d.Type == model.TextDelta {
			said.WriteString(d.Text)
		}
	}
	return info.Model + " says " + strings.TrimSpace(said.String()), nil
}

// Keep writes the variables down for this person alone, and uses them.
func (c credentials) Keep(env map[string]string) error {
	if c == "" {
		return errors.New("there is no home folder to save it in: set HOME")
	}
	raw, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(string(c)), 0o700); err != nil {
		return err
	}
	before := c.read() // which this process may use by now
	next := string(c) + ".new"
	if err := errors.Join(os.WriteFile(next, append(raw, '\n'), 0o600), os.Rename(next, string(c))); err != nil {
		return err
	}
	unset(before)
	c.use()
	return nil
}

// Forget deletes what was saved, and no longer uses it.
func (c credentials) Forget() error {
	if name := c.foreign(); name != "" {
		return fmt.Errorf("%s is set in haft's environment. Remove it there", name)
	}
	before := c.read()
	if err := os.Remove(string(c)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	unset(before)
	return nil
}

// unset undoes use.
func unset(kept map[string]string) {
	for name, value := range kept {
		if os.Getenv(name) == value {
			os.Unsetenv(name)
		}
	}
}
