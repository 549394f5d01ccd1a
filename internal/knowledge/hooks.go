package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
)

// ParseHooks reads hooks as the settings file that they are written like; nil means none, as
// null does.
func ParseHooks(source settings.Source, path string, value []byte) (*settings.File, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if !bytes.HasPrefix(value, []byte("{")) {
		return nil, errHooks
	}
	return settings.Parse(source, path, fmt.Appendf(nil, `{"hooks": %s}`, value))
}

var errHooks = errors.New("its hooks cannot be read: write a list of hooks for each event, as in the settings")

// HookTexts say what the hooks of a file run and when, for people.
func HookTexts(file *settings.File) (said []string) {
	for _, h := range settings.Of(file).Hooks() {
		said = append(said, strings.TrimSpace(h.Event+" "+h.Matcher)+" runs "+h.Line()+h.URL+h.Prompt)
	}
	return said
}
