package textfile

import (
	"bytes"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var (
	// codingComment is PEP 263, which Ruby reads as well; codingMark is how Emacs writes it in any language.
	codingComment = lazyregexp.New(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)
	codingMark    = lazyregexp.New(`-\*-.*?\bcoding:[ \t]*([-\w.]+).*?-\*-`)
	xmlEncoding   = lazyregexp.New(`^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([-\w.:]+)["']`)
	metaCharset   = lazyregexp.New(`(?i)<meta[^>]+charset\s*=\s*["']?\s*([-\w.:]+)`)
	cssCharset    = lazyregexp.New(`^@charset "([-\w.:]+)";`)
)

// metaWithin is how far into a page browsers look for its charset.
const metaWithin = 1024

// Declared returns the encoding that the beginning of a file names, by the rules of the language that it is written in. A name
// that nobody knows is as none.
func Declared(raw []byte) (Encoding, bool) {
	head := raw[:min(len(raw), metaWithin)]
	label := ""
	take := func(re *lazyregexp.Regexp, in []byte) {
		if m := re.FindSubmatch(in); m != nil && label == "" {
			label = string(m[1])
		}
	}
	take(xmlEncoding, head)
	take(cssCharset, head)
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("<")) {
		take(metaCharset, head)
	}
	rest := head
	for range 2 { // beyond the second line Python does not look
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		take(codingComment, line)
		take(codingMark, line)
		rest = after
	}
	if label == "" {
		return Encoding{}, false
	}
	enc, err := Lookup(label)
	enc.source = "declared in the file"
	return enc, err == nil && len(enc.bom) == 0 && !enc.wide
}

func asciiCount(b []byte) (n int) {
	for _, c := range b {
		if c < utf8.RuneSelf {
			n++
		}
	}
	return n
}
