package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// forProgram reports whether a program started haft to speak stream-json with it.
func forProgram(args []string) bool {
	for i, a := range args {
		if a == "--input-format=stream-json" || a == "--input-format" && i+1 < len(args) && args[i+1] == "stream-json" {
			return true
		}
	}
	return false
}

// converses reports whether a conversation is to be led without a screen.
func converses(args []string) bool {
	return forProgram(args) || slices.Contains(args, "-p") || slices.Contains(args, "--print")
}

// known keeps the arguments that haft understands. A program may be newer than
// this haft: a flag that is not known is told of and left out, with its value.
func known(args []string, flags *pflag.FlagSet, warnings io.Writer) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") {
			fmt.Fprintf(warnings, "haft: the argument %q is ignored: prompts come on standard input\n", a)
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
			fmt.Fprintf(warnings, "haft: the flag %s is not known and is ignored\n", strings.SplitN(a, "=", 2)[0])
			if follows {
				i++
			}
		case f.NoOptDefVal != "" || hasValue:
			kept = append(kept, a)
		case follows:
			kept = append(kept, a, args[i+1])
			i++
		default:
			kept = append(kept, a)
		}
	}
	return kept
}

// normalize lets --resume stand without a value: then the person chooses.
func normalize(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if (a == "--resume" || a == "-r") && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			args[i] = "--resume="
		}
	}
	return args
}

// splitRules splits a list of rules at commas and spaces, except inside a rule's
// parentheses.
func splitRules(lists []string) []string {
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
