package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/front/tui/style"
)

// A span is text of one style, which may be a link.
type span struct {
	text  string
	style style.Style
	link  string // "" for none
}

// linkOf is the address that a text is, or "". One with anything but printable ASCII is none: it
// could end the sequence that makes a link of it.
func linkOf(text string) string {
	text = strings.TrimRight(strings.TrimLeft(text, "(<\"'"), ".,;:!?)>\"'")
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return ""
	}
	return text
}

// linked makes links of the addresses in spans, if colours are wanted.
func linked(spans []span, p style.Palette) (list []span) {
	for _, s := range spans {
		if p.Link == "" || s.link != "" || !strings.Contains(s.text, "://") {
			list = append(list, s)
			continue
		}
		for i, word := range strings.SplitAfter(s.text, " ") {
			link := linkOf(strings.TrimSpace(word))
			if last := len(list) - 1; i > 0 && link == "" && list[last].link == "" {
				list[last].text += word
				continue
			}
			list = append(list, span{word, s.style, link})
		}
	}
	return list
}

// A reader reads one line of running text.
type reader struct {
	paint style.Palette
	text  string
	spans []span
	depth int
}

// read takes the text apart.
func (r *reader) read(base style.Style) {
	plain := 0
	flush := func(to int) {
		if to > plain {
			r.spans = append(r.spans, span{text: r.text[plain:to], style: base})
		}
	}
	for i := 0; i < len(r.text); {
		n := r.markup(i, base, func() { flush(i) })
		if n == 0 {
			_, size := utf8.DecodeRuneInString(r.text[i:])
			i += size
			continue
		}
		i += n
		plain = i
	}
	flush(len(r.text))
}

// markup reads the markup at a place, if there is any, and returns its length.
// Before it adds spans it calls begin.
func (r *reader) markup(at int, base style.Style, begin func()) int {
	rest := r.text[at:]
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!|<>~", rest[1]) >= 0 {
			begin()
			r.spans = append(r.spans, span{text: rest[1:2], style: base})
			return 2
		}
	case '`':
		mark := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		if end := strings.Index(rest[len(mark):], mark); end >= 0 {
			begin()
			r.spans = append(r.spans, span{text: strings.Trim(rest[len(mark):len(mark)+end], " "), style: base.With(r.paint.Code)})
			return end + 2*len(mark)
		}
	case '*', '_', '~':
		return r.emphasis(at, base, begin)
	case '[':
		return r.link(rest, base, begin)
	}
	return 0
}

// emphasis reads text between marks such as ** and **.
func (r *reader) emphasis(at int, base style.Style, begin func()) int {
	rest := r.text[at:]
	var mark string
	for _, m := range []string{"***", "**", "*", "__", "_", "~~"} {
		if strings.HasPrefix(rest, m) {
			mark = m
			break
		}
	}
	if mark == "" || r.depth > 4 {
		return 0
	}
	inner := rest[len(mark):]
	end := closing(inner, mark)
	if end <= 0 || mark[0] == '_' && (wordBefore(r.text, at) || wordAfter(inner, end+len(mark))) {
		return 0
	}
	begin()
	r.nested(inner[:end], base.With(r.styleOf(mark)))
	return end + 2*len(mark)
}

// closing returns where a mark closes what it opened, or -1: marks stand against
// the text that they are about.
func closing(text, mark string) int {
	if text == "" || text[0] == ' ' {
		return -1
	}
	for from := 0; ; {
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return -1
		}
		at += from
		longer := strings.HasPrefix(text[at+len(mark):], mark[:1])
		if at > 0 && text[at-1] != ' ' && (!longer || len(mark) > 1) {
			return at
		}
		from = at + len(mark)
		for longer && strings.HasPrefix(text[from:], mark[:1]) {
			from++
		}
	}
}

func (r *reader) styleOf(mark string) style.Style {
	switch mark {
	case "***":
		return r.paint.Bold.With(r.paint.Italic)
	case "**", "__":
		return r.paint.Bold
	case "~~":
		return r.paint.Strike
	}
	return r.paint.Italic
}

func (r *reader) nested(text string, base style.Style) {
	in := reader{paint: r.paint, text: text, depth: r.depth + 1}
	in.read(base)
	r.spans = append(r.spans, in.spans...)
}

// link reads [text](address).
func (r *reader) link(rest string, base style.Style, begin func()) int {
	end := strings.Index(rest, "](")
	if end < 1 || strings.Contains(rest[1:end], "[") {
		return 0
	}
	stop := strings.IndexByte(rest[end:], ')')
	if stop < 0 {
		return 0
	}
	label, address := rest[1:end], rest[end+2:end+stop]
	begin()
	from := len(r.spans)
	r.nested(label, base.With(r.paint.Link))
	for i := range r.spans[from:] {
		if r.paint.Link != "" { // without colours there are no links either
			r.spans[from+i].link = linkOf(address)
		}
	}
	if address != label {
		r.spans = append(r.spans, span{text: " (" + address + ")", style: r.paint.Dim})
	}
	return end + stop + 1
}

func wordBefore(s string, at int) bool {
	c, _ := utf8.DecodeLastRuneInString(s[:at])
	return at > 0 && (unicode.IsLetter(c) || unicode.IsDigit(c))
}

func wordAfter(s string, at int) bool {
	c, _ := utf8.DecodeRuneInString(s[at:])
	return at < len(s) && (unicode.IsLetter(c) || unicode.IsDigit(c))
}
