package launch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/text/visible"
)

// Parse reads the arguments that a program starts a conversation with. What is not
// known is told of and left out.
func Parse(args []string, version string, warnings io.Writer) (*headless.Options, error) {
	return parse(args, version, warnings, func(*pflag.FlagSet) error { return nil })
}

// parse is [Parse] for flags that pass a check.
func parse(args []string, version string, warnings io.Writer, check func(*pflag.FlagSet) error) (*headless.Options, error) {
	var f Flags
	fs := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	f.Define(fs)
	fs.Bool("verbose", false, "")
	fs.Bool("print", false, "")
	if err := fs.Parse(Known(args, fs, warnings)); err != nil {
		return nil, err
	}
	if err := check(fs); err != nil {
		return nil, err
	}
	for _, note := range Ineffective(fs) {
		fmt.Fprintf(warnings, "haft: %s\n", note)
	}
	return f.Options(fs, version)
}

// Known keeps the arguments that haft understands. A program may be newer than
// this haft: a flag that is not known is told of and left out, with its value.
func Known(args []string, flags *pflag.FlagSet, warnings io.Writer) []string {
	return known(args, flags, func(_, warning string) { fmt.Fprintf(warnings, "haft: %s\n", warning) })
}

// known calls skip with each word that is left out and what to say about it.
func known(args []string, flags *pflag.FlagSet, skip func(word, warning string)) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") {
			skip(a, fmt.Sprintf("ignoring the argument %q: prompts come from standard input", a))
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		f := flags.Lookup(name)
		if f == nil && len(name) == 1 {
			f = flags.ShorthandLookup(name)
		}
		follows := !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--")
		switch {
		case f == nil:
			word := strings.SplitN(a, "=", 2)[0]
			skip(word, fmt.Sprintf("ignoring the unknown flag %s", visible.Indented(word)))
			if follows {
				i++
			}
		case f.NoOptDefVal != "" || hasValue:
			kept = append(kept, a)
		case follows:
			kept = append(kept, a, args[i+1])
			for i++; slices.Contains(Lists, f.Name) && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"); i++ {
				kept = append(kept, "--"+f.Name+"="+args[i+1])
			}
		default:
			kept = append(kept, a)
		}
	}
	return kept
}

// Lists are the flags that take all the words that follow them.
var Lists = []string{"allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "tools", "add-dir", "mcp-config", "betas", "file"}

// SplitRules splits a list of rules at commas and spaces, except inside a rule's
// parentheses.
func SplitRules(lists []string) []string {
	var rules []string
	for _, list := range lists {
		depth, from := 0, 0
		for i, r := range list + "," {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case (r == ',' || r == ' ') && depth <= 0:
				if rule := strings.TrimSpace(list[from:i]); rule != "" {
					rules = append(rules, rule)
				}
				from = i + 1
			}
		}
		if depth > 0 { // a rule that is not closed is for the policy to complain about
			rules = append(rules, strings.TrimSpace(list[from:]))
		}
	}
	return rules
}
