package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A helpText is the help of a command while it is written.
type helpText struct {
	b     strings.Builder
	words *lang.Catalogue
	width int // 0: lines are as long as they are
}

// filled joins the lines of each paragraph for a terminal, which breaks them at its own width.
// Lines that are indented, as in a list, stay.
func (h *helpText) filled(text string) string {
	if h.width == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	out := lines[:1]
	for _, l := range lines[1:] {
		last := &out[len(out)-1]
		if l == "" || *last == "" || l[0] == ' ' || (*last)[0] == ' ' {
			out = append(out, l)
			continue
		}
		if before, _ := utf8.DecodeLastRuneInString(*last); before < wideFrom {
			*last += " "
		}
		*last += l
	}
	return strings.Join(out, "\n")
}

// wideFrom is the first character of a script that is written without blanks, and of its
// punctuation.
const wideFrom = '\u2e80'

func (h *helpText) usage(c *cobra.Command) {
	h.b.WriteString(h.words.T("Usage:"))
	if c.Runnable() {
		fmt.Fprintf(&h.b, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&h.b, "\n  %s [command]", c.CommandPath())
	}
	if len(c.Aliases) > 0 {
		h.part("Aliases:", "  "+c.NameAndAliases())
	}
	if c.HasExample() {
		h.part("Examples:", c.Example)
	}
	if c.HasAvailableSubCommands() {
		h.part("Available Commands:", h.commands(c))
	}
	if c.HasAvailableLocalFlags() {
		h.part("Flags:", h.flags(c.LocalFlags()))
	}
	if c.HasAvailableInheritedFlags() {
		h.part("Global Flags:", h.flags(c.InheritedFlags()))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&h.b, "\n\n%s", h.words.T("Use \"%s [command] --help\" for more information about a command.", c.CommandPath()))
	}
	h.b.WriteString("\n")
}

func (h *helpText) part(title lang.Text, text string) {
	fmt.Fprintf(&h.b, "\n\n%s\n%s", h.words.T(title), text)
}

func (h *helpText) commands(c *cobra.Command) string {
	var lines []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			lines = append(lines, fmt.Sprintf("  %-*s %s", sub.NamePadding(), sub.Name(), h.words.T(lang.Text(sub.Short))))
		}
	}
	return strings.Join(lines, "\n")
}

func (h *helpText) flags(flags *pflag.FlagSet) string {
	return strings.TrimRightFunc(flags.FlagUsagesWrapped(h.width), unicode.IsSpace)
}
