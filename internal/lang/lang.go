// Package lang has the messages of haft's screens in other languages than English.
//
//	c, err := lang.Load(lang.Choose(flag, setting, os.Getenv))
//	c.T("%d of %d", at, all)
//
// The English text in the code is the key, so that code reads as what it shows, and English
// needs no catalogue: nil is it. Every other language is one file, NAME.json, read when it is
// chosen; a test keeps it complete. What a model or a tool says is not translated. Reasons of
// verdicts are built in English, for programs and the model: see [Catalogue.Sentence].
// A Catalogue is safe for concurrent use.
package lang

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/plural"
)

// A Text is a message in English, which may be a format. Constants of this type are what a
// catalogue has to have.
type Text string

// A Catalogue is the messages of a language; nil is English.
type Catalogue struct {
	name  string
	texts map[Text]string
}

//go:embed *.json
var files embed.FS

// Names are the languages there are.
func Names() []string {
	names := []string{"en"}
	list, _ := files.ReadDir(".") // what is embedded is there
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// Load reads the messages of a language.
func Load(name string) (*Catalogue, error) {
	if name == "en" || name == "" {
		return nil, nil
	}
	raw, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("haft is not available in the language %q: choose one of %s", name, strings.Join(Names(), ", "))
	}
	c := &Catalogue{name: name}
	if err := json.Unmarshal(raw, &c.texts); err != nil {
		return nil, fmt.Errorf("read the messages in %s: %w", name, err)
	}
	return c, nil
}

// Name is what [Load] calls the language.
func (c *Catalogue) Name() string {
	if c == nil {
		return "en"
	}
	return c.name
}

// Choose says which language is meant: by the flag, the setting, or the locale of the
// environment, the first that says something. A locale without messages is English.
func Choose(flag, setting string, getenv func(string) string) string {
	for _, said := range []string{flag, setting} {
		if said != "" {
			return said
		}
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			return ofLocale(locale)
		}
	}
	return "en"
}

// ofLocale is the language of a locale such as zh_CN.UTF-8. The Chinese messages are in
// simplified characters, which are not what is read in Taiwan and Hong Kong.
func ofLocale(locale string) string {
	name, _, _ := strings.Cut(locale, ".")
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	switch {
	case name == "zh", strings.HasPrefix(name, "zh_cn"), strings.HasPrefix(name, "zh_sg"), strings.HasPrefix(name, "zh_hans"):
		return "zh"
	}
	return "en"
}

// An Error is an error whose message can be translated; see [Catalogue.Error].
type Error struct {
	text Text
	args []any
}

// Errorf returns an error with a message.
func Errorf(text Text, args ...any) *Error { return &Error{text, args} }

// Error is the message in English.
func (e *Error) Error() string { return (*Catalogue)(nil).T(e.text, e.args...) }

// Error is the message of an error; other errors than an [*Error] have one language only.
func (c *Catalogue) Error(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.Replace(err.Error(), e.Error(), c.T(e.text, e.args...), 1)
}

// T is a message with its arguments filled in; one that is not there is English. Arguments
// that are errors are translated too.
func (c *Catalogue) T(text Text, args ...any) string {
	s := string(text)
	if c != nil {
		if t, ok := c.texts[text]; ok {
			s = t
		}
	}
	if len(args) == 0 {
		return s
	}
	shown := slices.Clone(args)
	for i, arg := range shown {
		if err, ok := arg.(error); ok && err != nil {
			shown[i] = c.Error(err)
		}
	}
	return fmt.Sprintf(s, shown...)
}

// Count is a number with its noun.
func (c *Catalogue) Count(n int, noun Text) string {
	if c != nil {
		if t, ok := c.texts[noun]; ok {
			return fmt.Sprintf("%d %s", n, t)
		}
	}
	return plural.Of(n, string(noun))
}
