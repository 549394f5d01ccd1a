package rx

import (
	"strings"
	"sync"
	"unicode"
)

// The Perl classes as Unicode defines them (UTS #18, annex C), which is how
// ripgrep reads them.
var (
	wordSet = sync.OnceValue(func() set {
		return fromTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M,
			unicode.Nd, unicode.Pc, unicode.Join_Control)
	})
	digitSet = sync.OnceValue(func() set { return fromTables(unicode.Nd) })
	spaceSet = sync.OnceValue(func() set { return fromTables(unicode.White_Space) })
)

var (
	asciiWord  = set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	asciiDigit = set{{'0', '9'}}
	asciiSpace = set{{'\t', '\r'}, {' ', ' '}}
)

var posixSets = map[string]set{
	"alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"alpha":  {{'A', 'Z'}, {'a', 'z'}},
	"ascii":  {{0, 127}},
	"blank":  {{'\t', '\t'}, {' ', ' '}},
	"cntrl":  {{0, 31}, {127, 127}},
	"digit":  asciiDigit,
	"graph":  {{'!', '~'}},
	"lower":  {{'a', 'z'}},
	"print":  {{' ', '~'}},
	"punct":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"space":  asciiSpace,
	"upper":  {{'A', 'Z'}},
	"word":   asciiWord,
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
}

// isWord says whether r is a word character for \b.
func isWord(r rune) bool {
	if r < 128 {
		return isWordByte(byte(r))
	}
	return wordSet().has(r)
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// property finds the set of \p{name}: a general category, a script or a binary
// property, spelt loosely (case, spaces, '-' and '_' do not count).
func property(name string) (set, bool) {
	kind, value := "", name
	if i := strings.IndexAny(name, "=:"); i >= 0 {
		kind, value = loose(name[:i]), name[i+1:]
	}
	v := loose(value)
	switch kind {
	case "", "gc", "generalcategory", "sc", "script", "scx", "scriptextensions":
	default:
		return nil, false
	}
	scripts := strings.HasPrefix(kind, "sc")
	if !scripts {
		switch v {
		case "any":
			return set{{0, unicode.MaxRune}}, true
		case "ascii":
			return set{{0, 127}}, true
		case "assigned":
			return fromTables(unicode.Cn).negate(unicode.MaxRune), true
		}
		for alias, short := range unicode.CategoryAliases {
			if loose(alias) == v {
				v = loose(short)
				break
			}
		}
		if t, ok := lookup(unicode.Categories, v); ok {
			return t, true
		}
	}
	if kind == "" || scripts {
		if t, ok := lookup(unicode.Scripts, v); ok {
			return t, true
		}
	}
	if kind == "" {
		switch v {
		case "alphabetic", "alpha":
			return fromTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
		case "uppercase", "upper":
			return fromTables(unicode.Lu, unicode.Other_Uppercase), true
		case "lowercase", "lower":
			return fromTables(unicode.Ll, unicode.Other_Lowercase), true
		case "whitespace", "space":
			return spaceSet(), true
		}
		return lookup(unicode.Properties, v)
	}
	return nil, false
}

func lookup(tables map[string]*unicode.RangeTable, name string) (set, bool) {
	for k, t := range tables {
		if loose(k) == name {
			return fromTables(t), true
		}
	}
	return nil, false
}

func loose(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(s))
}
