package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan is for packagers. The pages are written here and not by cobra/doc, which would add
// two modules to the program: one for Markdown, one for YAML.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: message("Write the man pages"), Args: exactly(1), Hidden: true,
		Long: "Write the man pages of haft and its commands into a folder, creating it if it does\nnot exist. 'haft help' has the guides.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("could not write the man pages: %w", err)
			}
			if err := writeManPages(args[0], c.Root()); err != nil {
				return fmt.Errorf("could not write the man pages: %w", err)
			}
			return nil
		},
	}
}

func writeManPages(dir string, c *cobra.Command) error {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeManPages(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manPage(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(manTitle(c))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	// Lines stay as they are: help is already formatted for a terminal, with lists and
	// examples.
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS INHERITED FROM PARENT COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if related := manRelated(c); related != "" {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", related)
	}
	return b.String()
}

// manTitle takes the date of the page from the commit, so that the same source makes the
// same pages.
func manTitle(c *cobra.Command) string {
	built := currentBuild()
	date := ""
	if at, err := time.Parse(time.RFC3339, built.Date); err == nil {
		date = at.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf(".TH \"%s\" 1 \"%s\" \"haft %s\"\n.nh\n.ad l\n", roff(strings.ToUpper(manName(c))), date, roff(built.Version))
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" && f.NoOptDefVal == "" {
			name += " " + value
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(usage))
	})
}

// manRelated names the parent and the subcommands.
func manRelated(c *cobra.Command) string {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, manName(sub))
		}
	}
	for i, name := range names {
		names[i] = "\\fB" + roff(name) + "\\fR(1)"
	}
	return strings.Join(names, ", ")
}

// roff escapes text for the formatter: a backslash, a hyphen and quotes have a meaning
// anywhere, a dot at the beginning of a line, and not every formatter reads UTF-8.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch escape, special := roffEscapes[r]; {
		case special:
			b.WriteString(escape)
		case r == '.' && (i == 0 || text[i-1] == '\n'):
			b.WriteString(`\&.`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var roffEscapes = map[rune]string{'\\': `\e`, '-': `\-`, '"': `\(dq`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`}
