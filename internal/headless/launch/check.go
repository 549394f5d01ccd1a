package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// Check finds mistakes in what the flags say that would show only once a session is
// being opened, where something else that is missing, such as a key, may hide them.
func (f *Flags) Check() error {
	if _, err := permission.ParseMode(f.mode); err != nil {
		return fmt.Errorf("--permission-mode: %w", err)
	}
	if err := f.checkPromptTool(); err != nil {
		return err
	}
	if f.sessionID != "" && !uuid.MatchString(f.sessionID) {
		return fmt.Errorf("--session-id: %q is not a UUID, such as %s", f.sessionID, session.NewUUID())
	}
	for _, rule := range append(SplitRules(f.allowed), SplitRules(f.disallowed)...) {
		if err := (&permission.Rule{Text: rule, Behavior: tool.Deny}).Check(); err != nil {
			return fmt.Errorf("the rule %q from the command line is invalid: %w", rule, err)
		}
	}
	if err := checkSchema(f.schema); err != nil {
		return fmt.Errorf("--json-schema: %w", err)
	}
	for _, dir := range f.addDirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("--add-dir: %s is not a folder", dir)
		}
	}
	if err := checkSettings(f.settings); err != nil {
		return err
	}
	return f.checkResume()
}

// checkPromptTool looks for someone to ask: without stream-json as input, no program
// at the other end can answer.
func (f *Flags) checkPromptTool() error {
	_, name, ok := strings.Cut(strings.TrimPrefix(f.promptTool, "mcp__"), "__")
	switch {
	case f.promptTool == "" || f.prompts == "none":
		return nil
	case f.promptTool == "stdio":
		return errors.New("--permission-prompt-tool stdio needs --input-format stream-json, so that the program can answer")
	case !strings.HasPrefix(f.promptTool, "mcp__") || !ok || name == "":
		return fmt.Errorf("--permission-prompt-tool %q: use stdio, or an MCP tool such as mcp__server__tool", f.promptTool)
	}
	return nil
}

var uuid = lazyregexp.New(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// checkSettings looks at a value of --settings.
func checkSettings(value string) error {
	text := []byte(value)
	switch {
	case value == "":
		return nil
	case !strings.HasPrefix(strings.TrimSpace(value), "{"):
		raw, err := os.ReadFile(value)
		if err != nil {
			return fmt.Errorf("--settings: %w", err)
		}
		text = raw
	}
	if _, err := settings.Parse(settings.Flag, "", text); err != nil {
		return fmt.Errorf("--settings: %w", err)
	}
	return nil
}

// checkSchema looks at a value of --json-schema.
func checkSchema(text string) error {
	if text == "" {
		return nil
	}
	s, err := schema.Parse(json.RawMessage(text))
	if err != nil {
		return err
	}
	return s.Err()
}

// checkResume looks for the session to continue with.
func (f *Flags) checkResume() error {
	if f.Resume == "" {
		return nil
	}
	_, err := session.Open("").Find(f.Resume)
	if errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("%w. Run 'haft sessions list --all' to see the sessions", err)
	}
	return err
}
