package prompt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// values are what stands for what in one use of a template.
type values struct {
	Use
	words []string
	first int  // the number of the first argument in $1 and its like
	used  bool // the arguments were asked for
}

func newValues(u Use, first int) *values {
	return &values{Use: u, words: Words(u.Arguments), first: first}
}

// placeholder is one of $ARGUMENTS, $ARGUMENTS[0], $1, ${NAME} and $name.
var placeholder = lazyregexp.New(`\$ARGUMENTS(?:\[(\d+)\])?|\$(\d+)|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_][\w-]*)`)

// replace fills in a text. What stands for nothing stays as it is: it may be a
// variable of a shell.
func (v *values) replace(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		switch {
		case m[1] != "":
			return v.word(m[1], 0)
		case len(m[2]) == 1:
			return v.word(m[2], v.first)
		case m[2] != "":
			return p // $100 is a price
		case m[3] != "":
			if value, ok := v.Vars[m[3]]; ok {
				return value
			}
			return p
		case m[4] != "":
			return v.named(p, m[4])
		}
		v.used = true
		return strings.TrimSpace(v.Arguments)
	})
}

// word returns an argument by its number, counted from first; "" if it was not
// given.
func (v *values) word(number string, first int) string {
	v.used = true
	n, err := strconv.Atoi(number)
	if i := n - first; err == nil && i >= 0 && i < len(v.words) {
		return v.words[i]
	}
	return ""
}

// named returns a named argument. A dash may belong to the name or follow it.
func (v *values) named(p, name string) string {
	rest := ""
	for {
		if i := slices.Index(v.Names, name); i >= 0 {
			v.used = true
			if i < len(v.words) {
				return v.words[i] + rest
			}
			return rest
		}
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return p
		}
		name, rest = name[:i], name[i:]+rest
	}
}

// Words splits arguments at blanks; quotes hold words together, as in a shell.
func Words(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open := false // a word has begun
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'' && !open:
			quote, open = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
