package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// samples are texts long enough for the frequency detector, one per language family.
var samples = map[string]string{
	"english":  "# The quick brown fox\nfunc main() {\n\tprintln(\"hello\")\n}\n",
	"french":   "# Voilà l'été : une équipe déjà prête à côtoyer les élèves où ça gêne.\n// Le cœur n'y était pas encore.\nname = value\nLes dépêches précédentes étaient mêlées à des événements très récents.\n",
	"latin1":   "# Voilà l'été : une équipe déjà prête à côtoyer les élèves.\nname = value\nLes dépêches précédentes étaient mêlées à des événements très récents.\nÀ bientôt, disait la fenêtre fermée.\n",
	"chinese":  "// 这是一个用来测试编码检测的文件，里面有足够多的汉字。\nname = value\n// 我们希望编辑之后，其他的字节保持不变，包括注释和字符串。\n// 中华人民共和国的首都是北京，上海是最大的城市。\n",
	"japanese": "// これは文字コードの判定を確かめるためのファイルです。\nname = value\n// 編集した後も、他のバイトはそのまま残るはずです。表示とソースも同じです。\n// カタカナのテストも含みます。\n",
	"korean":   "// 이 파일은 문자 인코딩 감지를 시험하기 위한 것입니다.\nname = value\n// 편집한 뒤에도 다른 바이트는 그대로 남아 있어야 합니다.\n// 대한민국의 수도는 서울입니다.\n",
	"russian":  "// Этот файл нужен для проверки определения кодировки текста.\nname = value\n// После правки остальные байты должны остаться прежними.\n",
}

// fixture is one file per encoding the promise names.
type fixture struct {
	name string
	enc  string
	raw  []byte
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	encode := func(codec, sample string) []byte {
		e, ok := ByName(codec)
		if !ok {
			t.Fatalf("no encoding %q", codec)
		}
		b, err := e.Encode(samples[sample])
		if err != nil {
			t.Fatal(err)
		}
		return append(e.BOM(), b...)
	}
	crlf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	return []fixture{
		{"UTF-8", "UTF-8", []byte(samples["chinese"])},
		{"UTF-8 with BOM", "UTF-8 with BOM", encode("UTF-8 with BOM", "french")},
		{"UTF-8 with a stray byte", "UTF-8", append([]byte(samples["chinese"]), 0xE9, '\n')},
		{"UTF-16LE with BOM", "UTF-16LE with BOM", encode("UTF-16LE with BOM", "japanese")},
		{"UTF-16BE with BOM", "UTF-16BE with BOM", encode("UTF-16BE with BOM", "korean")},
		{"UTF-16LE without BOM", "UTF-16LE", encode("UTF-16LE", "english")},
		{"UTF-16BE without BOM", "UTF-16BE", encode("UTF-16BE", "english")},
		{"Latin-1", "ISO-8859-1", encode("ISO-8859-1", "latin1")},
		{"Windows-1252", "windows-1252", encode("windows-1252", "french")},
		{"GB18030", "GB18030", encode("GB18030", "chinese")},
		{"GB18030 with CRLF", "GB18030", crlf(encode("GB18030", "chinese"))},
		{"Shift_JIS", "Shift_JIS", encode("Shift_JIS", "japanese")},
		{"EUC-KR", "EUC-KR", encode("EUC-KR", "korean")},
		{"windows-1251", "windows-1251", encode("windows-1251", "russian")},
		{"ASCII with CRLF", "UTF-8", crlf([]byte(samples["english"] + "name = value\n"))},
		{"ASCII with CR", "UTF-8", bytes.ReplaceAll([]byte(samples["english"]+"name = value\n"), []byte("\n"), []byte("\r"))},
		{"ASCII with mixed endings", "UTF-8", []byte("a\r\nname = value\nb\r\nc\n\r\nlast")},
	}
}

func TestParseDetectsEachEncoding(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			text, err := Parse(f.raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := text.Encoding().String(); got != f.enc {
				t.Errorf("encoding %q, want %q", got, f.enc)
			}
			if enc, ok := ByName(text.Encoding().String()); !ok || !bytes.Equal(Decode(f.raw, enc).Bytes(), text.Bytes()) {
				t.Errorf("the name %q does not lead back to the encoding", text.Encoding())
			}
		})
	}
}

// TestShortTexts: a line or two are too little for letter frequencies.
func TestShortTexts(t *testing.T) {
	cases := []struct {
		raw, enc string
		unsure   bool
	}{
		{"// caf\xe9\n", "ISO-8859-1", false},
		{"x := \"Gr\xf6\xdfe\" // gr\xfc\xdfe\n", "ISO-8859-1", false},
		{"a\xf1o = 1\n", "ISO-8859-1", false},
		{"func main() {\n\t// na\xefve caf\xe9 d\xe9j\xe0 vu\n\tprintln(1)\n}\n", "ISO-8859-1", false},
		{"\xa9 2024 Foo\n", "ISO-8859-1", false},
		{"30\xb0C\n", "ISO-8859-1", false},
		{"don\x92t\n", "windows-1252", false},
		{"\x93quoted\x94 text\n", "windows-1252", false},
		{"// \xc4\xe3\xba\xc3\n", "GB18030", false},
		{"\xd0\xd5\xc3\xfb", "GB18030", true},
		{"// \x82\xb1\x82\xea\n", "Shift_JIS", false},
		{"// \x83\x65\x83\x58\x83\x67\n", "Shift_JIS", false},
	}
	for _, c := range cases {
		enc, err := Detect([]byte(c.raw))
		if err != nil || enc.String() != c.enc || enc.Unsure() != c.unsure {
			t.Errorf("%q: %v, unsure %v, %v; want %s, unsure %v", c.raw, enc, enc.Unsure(), err, c.enc, c.unsure)
		}
		if _, err := enc.Encode("ascii only"); err != nil {
			t.Errorf("%q: ASCII is refused: %v", c.raw, err)
		}
		if _, err := enc.Encode("表"); c.unsure && err == nil {
			t.Errorf("%q: more than ASCII is written on a guess", c.raw)
		}
	}
}

func TestAnASCIIEditKeepsEveryOtherByte(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			text, err := Parse(f.raw)
			if err != nil {
				t.Fatal(err)
			}
			word := []byte("value")
			if !bytes.Contains(text.Bytes(), word) {
				word = []byte("hello")
			}
			at := bytes.Index(text.Bytes(), word)
			got, err := text.Splice([]Splice{{at, at + len(word), "changed"}})
			if err != nil {
				t.Fatal(err)
			}
			from, to := text.Offset(at), text.Offset(at+len(word))
			inserted, err := text.Encoding().Encode("changed")
			if err != nil {
				t.Fatal(err)
			}
			want := append(append(bytes.Clone(f.raw[:from]), inserted...), f.raw[to:]...)
			if !bytes.Equal(got, want) {
				t.Errorf("bytes outside the span changed\n%s", cmp.Diff(want, got))
			}
			if wantText := bytes.Replace(text.Bytes(), word, []byte("changed"), 1); !bytes.Equal(Decode(got, text.Encoding()).Bytes(), wantText) {
				t.Errorf("the new file does not read as meant")
			}
		})
	}
}

func TestTextTheEncodingCannotHoldIsRefused(t *testing.T) {
	cases := map[string]string{"Latin-1": "€", "Windows-1252": "日", "Shift_JIS": "é", "EUC-KR": "é", "windows-1251": "日"}
	for _, f := range fixtures(t) {
		bad, ok := cases[f.name]
		if !ok {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			text, err := Parse(f.raw)
			if err != nil {
				t.Fatal(err)
			}
			_, err = text.Splice([]Splice{{0, 0, "ok " + bad}})
			var rep *repertoireError
			if !errors.As(err, &rep) || string(rep.Rune) != bad {
				t.Fatalf("error %v, want one that names %q", err, bad)
			}
		})
	}
}

func TestBinaryIsRefusedByKind(t *testing.T) {
	cases := []struct{ name, raw, kind string }{
		{"PNG by its magic number", "\x89PNG\r\n\x1a\n\x00\x00", "PNG image"},
		{"PDF by its magic number", "%PDF-1.7\nhello", "PDF document"},
		{"ELF by its magic number", "\x7fELF\x02\x01", "ELF program or library"},
		{"a Windows program needs a NUL besides MZ", "MZ\x90\x00\x03", "Windows program or library"},
		{"NUL bytes without a known beginning", "abc\x00def\x01\x02\x00", "data with NUL bytes"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32 text"},
		{"UTF-8 mark and NUL", "\xef\xbb\xbfa\x00b", "data with NUL bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.raw))
			var bin *BinaryError
			if !errors.As(err, &bin) || bin.Kind != c.kind {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
		})
	}
	for _, text := range []string{"", "BMW is a car", "MZ in a text", "ID3 tags", "BZh"} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%q is text, got %v", text, err)
		}
	}
}

func TestEOL(t *testing.T) {
	for text, want := range map[string]EOL{"": NoEOL, "a": NoEOL, "a\n": LF, "a\r\nb\r\n": CRLF, "a\rb\r": CR, "a\r\nb\n": Mixed, "a\rb\n": LF} {
		if got := EOLOf([]byte(text)); got != want {
			t.Errorf("EOLOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEndingAt(t *testing.T) {
	text := Decode([]byte("a\r\nb\nc"), Encoding{})
	for off, want := range map[int]string{0: "\r\n", 1: "\r\n", 3: "\n", 5: "\n", 6: "\n"} {
		if got := text.EndingAt(off); got != want {
			t.Errorf("EndingAt(%d) = %q, want %q", off, got, want)
		}
	}
	if got := Decode([]byte("a\rb"), Encoding{}).EndingAt(3); got != "\r" {
		t.Errorf("in a file of \\r: %q", got)
	}
}

func TestLinesJoinToTheRawBytes(t *testing.T) {
	for _, f := range fixtures(t) {
		text, err := Parse(f.raw)
		if err != nil {
			t.Fatal(err)
		}
		lines := text.Lines()
		if !bytes.Equal(bytes.Join(lines, nil), f.raw) {
			t.Errorf("%s: lines do not join to the file", f.name)
		}
		sep := "\n"
		if text.EOL() == CR {
			sep = "\r"
		}
		want := strings.Count(string(text.Bytes()), sep)
		if !strings.HasSuffix(string(text.Bytes()), sep) {
			want++
		}
		if len(lines) != want {
			t.Errorf("%s: %d lines, want %d", f.name, len(lines), want)
		}
	}
}

func TestRewriteKeepsEndingsLineByLine(t *testing.T) {
	cases := []struct{ name, old, content, want string }{
		{"CRLF stays CRLF", "a\r\nb\r\n", "a\nc\nb\n", "a\r\nc\r\nb\r\n"},
		{"mixed endings stay where they were", "a\r\nb\nc\r\n", "a\nB\nc\nd\n", "a\r\nB\nc\r\nd\r\n"},
		{"CR stays CR", "a\rb\r", "a\nx\nb\n", "a\rx\rb\r"},
		{"the byte-order mark stays", "\ufeffa\r\nb", "a\nb\n", "\ufeffa\r\nb\r\n"},
		{"a byte-order mark of an LF file stays", "\ufeffa\n", "z\n", "\ufeffz\n"},
		{"endings the content brings are meant", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"},
		{"all may go", "a\r\nb\r\n", "", ""},
		{"an empty file may be filled", "", "a\nb", "a\nb"},
		{"a byte-order mark is not doubled", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"},
		{"a CR file rewritten as it is stays", "a\rb\r", "a\rB\r", "a\rB\r"},
		{"a carriage return within a line of an LF file is text", "a\rb\nc\n", "a\rb\nC\n", "a\rb\nC\n"},
		{"stray bytes stay in lines that are as they were shown", "caf\xe9 \u00e9\u00e9\u00e9\u00e9\nb\n", "caf\ufffd \u00e9\u00e9\u00e9\u00e9\nB\n", "caf\xe9 \u00e9\u00e9\u00e9\u00e9\nB\n"},
		{"stray bytes stay where a program rewrote the text", "\xe9 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n\xe8 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n", "\xe8 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n", "\xe8 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, err := Parse([]byte(c.old))
			if err != nil {
				t.Fatal(err)
			}
			got, err := text.Rewrite(c.content)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRewriteKeepsTheBytesOfUnchangedLines(t *testing.T) {
	cases := []struct{ name, encoding, old, change, to, want string }{
		{"two ways to write a character", "Shift_JIS", "\xfa\x54 x\ny\n", "y", "z", "\xfa\x54 x\nz\n"},
		{"half a surrogate pair", "UTF-16LE", "\x00\xd8\n\x00y\x00\n\x00", "y", "z", "\x00\xd8\n\x00z\x00\n\x00"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			enc, _ := ByName(c.encoding)
			text := Decode([]byte(c.old), enc)
			got, err := text.Rewrite(strings.ReplaceAll(string(text.Bytes()), c.change, c.to))
			if err != nil || string(got) != c.want {
				t.Errorf("got %x and %v, want %x", got, err, c.want)
			}
		})
	}
}

func TestRewriteDoesNotTurnStrayBytesIntoReplacementCharacters(t *testing.T) {
	text, err := Parse([]byte("a\ncaf\xe9 \u00e9\u00e9\u00e9\u00e9\nb\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = text.Rewrite("a\nthe caf\ufffd \u00e9\u00e9\u00e9\u00e9\nb\n")
	var stray *strayError
	if !errors.As(err, &stray) || stray.Line != 2 {
		t.Errorf("got %v, want a refusal for line 2", err)
	}
}

func TestOffsetsAgreeWithTheDecoderEverywhere(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			raw := f.raw
			enc, err := Detect(raw)
			if err != nil {
				t.Fatal(err)
			}
			body := raw[len(enc.bom):]
			for len(raw) < 3*blockSize { // several blocks, so that the map is used
				raw = append(raw, body...)
			}
			text := Decode(raw, enc)
			rng := rand.New(rand.NewPCG(1, 2))
			for range 300 {
				off := rng.IntN(len(text.Bytes()) + 1)
				for off < len(text.Bytes()) && !utf8.RuneStart(text.Bytes()[off]) {
					off++
				}
				head := Decode(raw[:text.Offset(off)], enc)
				if !bytes.Equal(head.Bytes(), text.Bytes()[:off]) {
					t.Fatalf("offset %d maps to %d, which decodes to %d bytes", off, text.Offset(off), len(head.Bytes()))
				}
			}
		})
	}
}

// TestOffsetsInEveryLegacyEncoding maps random text, block boundaries included, in each encoding there is a codec for.
func TestOffsetsInEveryLegacyEncoding(t *testing.T) {
	for name := range legacy {
		enc, _ := ByName(name)
		rng := rand.New(rand.NewPCG(3, 4))
		var text []byte
		for len(text) < 3*blockSize {
			r := rune(rng.IntN(0x80))
			if rng.IntN(2) == 0 {
				r = rune(0xA0 + rng.IntN(0x9F00))
			}
			if b, err := enc.Encode(string(r)); err == nil && string(Decode(b, enc).Bytes()) == string(r) {
				text = utf8.AppendRune(text, r)
			}
		}
		raw, err := enc.Encode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		d := Decode(raw, enc)
		if !bytes.Equal(d.Bytes(), text) {
			continue // neighbours that read as one character: verify is there for that
		}
		at := 0
		for at < len(text) {
			if head := Decode(raw[:d.Offset(at)], enc).Bytes(); !bytes.Equal(head, text[:at]) {
				t.Fatalf("%s: offset %d maps to %d, which decodes to %d bytes", name, at, d.Offset(at), len(head))
			}
			for range 1 + rng.IntN(60) {
				if at < len(text) {
					_, n := utf8.DecodeRune(text[at:])
					at += n
				}
			}
		}
	}
}

// FuzzSplice: for any bytes that are text and any span, what lies outside the span is byte-identical.
func FuzzSplice(f *testing.F) {
	for _, x := range fixtures(f) {
		f.Add(x.raw, uint(3), uint(9), "new\n")
	}
	f.Add([]byte("\x81\x40\x81"), uint(0), uint(1), "@")
	f.Fuzz(func(t *testing.T, raw []byte, a, b uint, s string) {
		text, err := Parse(raw)
		if err != nil || !utf8.ValidString(s) {
			return
		}
		n := uint(len(text.Bytes()) + 1)
		start, end := int(min(a%n, b%n)), int(max(a%n, b%n))
		for start > 0 && start < len(text.Bytes()) && !utf8.RuneStart(text.Bytes()[start]) {
			start--
		}
		for end < len(text.Bytes()) && !utf8.RuneStart(text.Bytes()[end]) {
			end++
		}
		before := bytes.Clone(raw)
		got, err := text.Splice([]Splice{{start, end, s}})
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		from, to := text.Offset(start), text.Offset(end)
		if !bytes.HasPrefix(got, raw[:from]) || !bytes.HasSuffix(got, raw[to:]) {
			t.Fatal("bytes outside the span changed")
		}
		if want := string(text.Bytes()[:start]) + s + string(text.Bytes()[end:]); string(Decode(got, text.Encoding()).Bytes()) != want {
			t.Fatal("the result does not decode to the spliced text")
		}
	})
}

// FuzzRewrite: writing what was shown changes nothing, and any other content reads back as it was given, but for line endings.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), "a\nx\nc")
	f.Add([]byte("\xff\xfea\x00\n\x00\x00\xd8\n\x00"), "a\nb\n")
	f.Add([]byte("caf\xe9 \u00e9\u00e9\u00e9\u00e9\nb\n"), "b\n")
	f.Add([]byte("a\rb\r"), "a\nB\n")
	f.Add([]byte("\ufeffa\n"), "\ufeffb")
	f.Add([]byte("\ufeff\ufeffa\n"), "b")
	plain := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	f.Fuzz(func(t *testing.T, raw []byte, content string) {
		text, err := Parse(raw)
		if err != nil || !utf8.ValidString(content) {
			return
		}
		shown := strings.ToValidUTF8(string(text.Bytes()), "\uFFFD")
		if got, err := text.Rewrite(shown); err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("%q was written as %q, %v", raw, got, err)
		}
		got, err := text.Rewrite(content)
		if err != nil {
			return
		}
		if len(text.Encoding().BOM()) > 0 && !strings.HasPrefix(shown, "\ufeff") {
			content = strings.TrimPrefix(content, "\ufeff")
		}
		now := strings.ToValidUTF8(string(Decode(got, text.Encoding()).Bytes()), "\uFFFD")
		if plain(now) != plain(content) {
			t.Fatalf("%q over %q reads %q", content, raw, now)
		}
	})
}

func TestRewritingALargeFileIsCheap(t *testing.T) {
	var a, b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&a, "line %d of the old text\n", i)
		fmt.Fprintf(&b, "line %d of the new text\n", i)
	}
	text, err := Parse([]byte(a.String()))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, err := text.Rewrite(b.String())
	if err != nil || string(got) != b.String() {
		t.Fatal("not what was given", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("%v for nothing in common", d)
	} else {
		t.Log(d)
	}
}
