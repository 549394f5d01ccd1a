package edits

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// visible writes blanks so that they can be told apart: tabs and carriage returns everywhere, spaces at the ends, and any
// other blank or invisible character by its code point. Long lines are cut.
func visible(s string) string {
	const most = 160
	body := strings.TrimRight(strings.TrimLeft(s, " \t"), " ")
	lead := len(s) - len(strings.TrimLeft(s, " \t"))
	var b strings.Builder
	for i, r := range s {
		if b.Len() > most {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\t':
			b.WriteString("→")
		case r == '\r':
			b.WriteString("␍")
		case r == ' ' && (i < lead || i >= lead+len(body)):
			b.WriteString("·")
		case r != ' ' && !unicode.IsPrint(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// difference names the first place where two lines differ, when naming it says more than showing it.
func difference(file, old string) string {
	fi, oi := file[:indentLen([]byte(file))], old[:indentLen([]byte(old))]
	if fi != oi && file[len(fi):] == old[len(oi):] {
		return fmt.Sprintf("\n  (indentation: the file has %s, old_string has %s)", orNone(fi), orNone(oi))
	}
	f, o := []rune(file), []rune(old)
	for i := 0; i < len(f) && i < len(o); i++ {
		if f[i] != o[i] && fold(string(f[i])) == fold(string(o[i])) {
			return fmt.Sprintf("\n  (column %d: the file has %s, old_string has %s)", i+1, runeName(f[i]), runeName(o[i]))
		} else if f[i] != o[i] {
			return ""
		}
	}
	return ""
}

func orNone(indent string) string {
	if indent == "" {
		return "none"
	}
	return blanks(indent)
}

func runeName(r rune) string {
	switch r {
	case ' ':
		return "a space"
	case '\t':
		return "a tab"
	case '\u00a0':
		return "a no-break space (U+00A0)"
	}
	if unicode.IsPrint(r) {
		return fmt.Sprintf("%c (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// atLines lists where matches begin, up to ten of them.
func atLines(t *textfile.Text, ms []match) string {
	const most = 10
	newline := []byte("\n")
	if t.EOL() == textfile.CR {
		newline = []byte("\r")
	}
	var out []string
	for _, m := range ms[:min(len(ms), most)] {
		out = append(out, fmt.Sprint(1+bytes.Count(t.Bytes()[:m.start], newline)))
	}
	if len(ms) == 1 {
		return "line " + out[0]
	}
	list := "lines " + strings.Join(out, ", ")
	if len(ms) > most {
		list += ", …"
	}
	return list
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
