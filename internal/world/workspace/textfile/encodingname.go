package textfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// aliases are names of encodings in Python, Java, editors and on Windows that the web's list of labels lacks or means
// differently: to Python latin-1 is not windows-1252. All are in the form that plainLabel gives.
var aliases = map[string]string{
	"latin1": "ISO-8859-1", "l1": "ISO-8859-1", "iso88591": "ISO-8859-1",
	"gb2312": "GBK", "euccn": "GBK", "cp936": "GBK", "ms936": "GBK", "windows936": "GBK", "chinese": "GBK",
	"cp950": "Big5", "ms950": "Big5", "big5hkscs": "Big5", "cp932": "Shift_JIS", "ms932": "Shift_JIS",
	"windows31j": "Shift_JIS", "ujis": "EUC-JP", "cp949": "EUC-KR", "ms949": "EUC-KR", "uhc": "EUC-KR",
	"win1251": "windows-1251", "cyrillic": "ISO-8859-5", "utf8": "UTF-8", "utf8sig": "UTF-8 with BOM",
	"utf8bom": "UTF-8 with BOM", "utf16": "UTF-16LE with BOM", "utf16le": "UTF-16LE", "utf16be": "UTF-16BE",
}

// Lookup returns the encoding that a label names as declarations, settings and people write them: gbk, cp1251, Shift_JIS,
// latin-1, and the names that String gives.
func Lookup(label string) (Encoding, error) {
	plain := plainLabel(label)
	name := aliases[plain]
	for known := range legacy {
		if name == "" && plainLabel(known) == plain {
			name = known
		}
	}
	if codec, err := htmlindex.Get(strings.TrimSpace(label)); name == "" && err == nil {
		web, _ := htmlindex.Name(codec)
		for known := range legacy {
			if strings.EqualFold(known, web) {
				name = known
			}
		}
	}
	if enc, ok := ByName(name); name != "" && ok {
		return settled(enc), nil
	}
	if enc, ok := ByName(strings.TrimSpace(label)); ok && plain != "" {
		return settled(enc), nil
	}
	return Encoding{}, &labelError{Label: label}
}

// settled is an encoding that someone named, so that nothing is guessed.
func settled(e Encoding) Encoding {
	e.guessed, e.unsure = false, false
	return e
}

// plainLabel drops case and punctuation, which differ from list to list.
func plainLabel(label string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_ .:", r) {
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(label)))
}

// labelError says that no encoding has this name. Its text is written for the model.
type labelError struct{ Label string }

func (e *labelError) Error() string {
	names := slices.Sorted(maps.Keys(legacy))
	return fmt.Sprintf("Unknown encoding %q. Use UTF-8, UTF-16LE, UTF-16BE (each also \"with BOM\"), %s.", e.Label, strings.Join(names, ", "))
}
