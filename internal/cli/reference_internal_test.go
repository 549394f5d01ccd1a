package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// TestReference compares docs/reference.md with the commands and flags that haft has.
// -update writes it.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reference: commands and flags\n\n" +
		"This page lists every command of haft with its flags, as `haft COMMAND --help` prints them. [The command line](cli.md) explains the most important ones.\n")
	root := wholeRoot()
	plain := "\n## Commands without flags\n\n| command | what it does |\n|---|---|\n"
	told := map[string]string{}
	commands(root, func(c *cobra.Command) {
		switch {
		case c.NonInheritedFlags().HasAvailableFlags():
			describe(&b, c, root.Flags(), told)
		case c.Runnable():
			plain += fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(strings.TrimSuffix(c.UseLine(), " [flags]"), "|", `\|`), strings.TrimSuffix(c.Short, "."))
		}
	})
	b.WriteString(plain)
	var ours strings.Builder
	var idle []string
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Usage, "has no effect") {
			idle = append(idle, "`--"+f.Name+"`")
		} else if f.Hidden {
			fmt.Fprintf(&ours, "| `--%s` | %s |\n", f.Name, strings.ReplaceAll(f.Usage, "|", `\|`))
		}
	})
	b.WriteString("\n## Flags that `haft --help` does not show\n\n| flag | what it does |\n|---|---|\n" + ours.String())
	b.WriteString("\nThese flags of Claude Code have no effect, and haft says why: " + strings.Join(idle, ", ") + ".\n")
	golden.Check(t, "../../docs/reference.md", b.String())
}

func wholeRoot() *cobra.Command {
	root := newRoot(Streams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, shellrun.Reexec{})
	root.InitDefaultHelpCmd()
	return root
}

// commands calls yield with a command and all below it that users see.
func commands(c *cobra.Command, yield func(*cobra.Command)) {
	yield(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			commands(sub, yield)
		}
	}
}

// describe writes what a command does, and its flags. Of told, which has the commands by what is said of a flag, it
// repeats nothing long.
func describe(b *strings.Builder, c *cobra.Command, conversation *pflag.FlagSet, told map[string]string) {
	fmt.Fprintf(b, "\n## `%s`\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	if usage := strings.TrimSuffix(c.UseLine(), " [flags]"); c.Runnable() && usage != c.CommandPath() {
		fmt.Fprintf(b, "\n    %s\n", usage)
	}
	rows, same := 0, []string{}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if other := conversation.Lookup(f.Name); c.HasParent() && other != nil && other.Usage == f.Usage {
			same = append(same, "`--"+f.Name+"`")
			return
		}
		if rows++; rows == 1 {
			b.WriteString("\n| flag | |\n|---|---|\n")
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if before := told[usage]; before != "" && len(usage) > 60 {
			usage = "as for `" + before + "`"
		} else {
			told[usage] = c.CommandPath()
		}
		if kind != "" {
			name += " " + strings.NewReplacer("stringArray", "LIST", "strings", "LIST", "string", "TEXT", "int", "NUMBER", "float", "NUMBER", "duration", "TIME").Replace(kind)
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, strings.ReplaceAll(usage, "|", `\|`))
	})
	if list := strings.Join(same, ", "); told[list] != "" && len(same) > 3 {
		fmt.Fprintf(b, "\nAlso those of `haft` that `%s` has.\n", told[list])
	} else if list != "" {
		fmt.Fprintf(b, "\nAs for `haft`: %s.\n", list)
		told[list] = c.CommandPath()
	}
}

// TestEveryCommandIsRun looks for each command in the scripts and the guide that tests run.
func TestEveryCommandIsRun(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range append(files, "../../docs/first-hour.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	commands(wholeRoot(), func(c *cobra.Command) {
		if c.Runnable() && !regexp.MustCompile(`(?m)^(!? ?(exec|usage)|\$) `+regexp.QuoteMeta(c.CommandPath())+`\b`).MatchString(all.String()) {
			t.Errorf("no script in testdata/script runs '%s'", c.CommandPath())
		}
	})
}
