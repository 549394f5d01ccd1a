package cli

import (
	"strings"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/spf13/cobra"
)

// A language is the value of --lang, which every command takes.
type language struct {
	said  string // "" leaves the choice to the settings and the locale
	words *lang.Catalogue
}

func (l *language) define(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.Var(l, "lang", "language of haft's messages: "+strings.Join(lang.Names(), " or ")+"; defaults to the setting uiLanguage, then the locale")
	root.Flags().AddFlag(flags.Lookup("lang")) // the library adds it later, but what a program passes is checked before
}

func (l *language) String() string { return l.said }

func (l *language) Type() string { return "string" }

// Set chooses a language. It refuses one without messages, whatever the command.
func (l *language) Set(name string) (err error) {
	l.said = name
	l.words, err = lang.Load(name)
	return err
}

// uiLanguage is the language in the settings of a project, nil for the one in this folder.
// Problems with the settings are reported by what uses them.
func uiLanguage(opts *project.Options) string {
	p, err := project.Open(opts)
	if err != nil {
		return ""
	}
	said, _ := p.Counts.Text("uiLanguage")
	return said.Text
}

// message marks a text of a command as one that help shows in the language of the user.
func message(text lang.Text) string { return string(text) }
