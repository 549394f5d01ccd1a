package webpage

import (
	"bytes"
	"errors"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/workspace/textfile"
)

// decode returns text as UTF-8; ok is false for what is not text. What the bytes
// say comes before what the server says, and a guess comes last: a byte-order mark,
// valid UTF-8, the declared charset, the letters.
func decode(raw []byte, contentType string) (text string, ok bool) {
	declared := declaredCodec(raw, contentType)
	if declared != nil && !marked(raw) && !meaningfulUTF8(raw) {
		if out, err := declared.NewDecoder().Bytes(raw); err == nil && !bytes.Contains(out, []byte{0}) {
			return clean(out), true
		}
	}
	found, err := textfile.Detect(raw)
	if err != nil {
		var binary *textfile.BinaryError
		if errors.As(err, &binary) {
			return "", false
		}
		return clean(raw), true
	}
	raw = bytes.TrimPrefix(raw, found.BOM())
	if codec := found.Codec(); codec != nil {
		if out, err := codec.NewDecoder().Bytes(raw); err == nil {
			raw = out
		}
	}
	return clean(raw), true
}

func clean(text []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n")
}

// marked reports whether text begins with a byte-order mark.
func marked(raw []byte) bool {
	for _, bom := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(raw, []byte(bom)) {
			return true
		}
	}
	return false
}

// meaningfulUTF8 reports whether text is UTF-8 and could hardly be anything else,
// as when a server calls all its pages ISO-8859-1.
func meaningfulUTF8(raw []byte) bool {
	return bytes.ContainsFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf }) && utf8.Valid(raw)
}

// metaCharset is where HTML and XML name their charset.
var metaCharset = lazyregexp.New(`(?i)(?:<meta[^>]+charset|<\?xml[^>]+encoding)\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

// declaredCodec returns the codec of the charset that the server or the page
// names; nil if none does, or if it is UTF-8.
func declaredCodec(raw []byte, contentType string) encoding.Encoding {
	var name string
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		name = params["charset"]
	}
	if name == "" {
		if m := metaCharset.FindSubmatch(raw[:min(len(raw), 4096)]); m != nil {
			name = string(m[1])
		}
	}
	codec, err := htmlindex.Get(strings.TrimSpace(name))
	if err != nil {
		return nil
	}
	if canonical, err := htmlindex.Name(codec); err != nil || canonical == "utf-8" || canonical == "replacement" {
		return nil
	}
	return codec
}
