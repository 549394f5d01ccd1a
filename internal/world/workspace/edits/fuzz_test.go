package edits

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// checkOutside fails when a byte outside the matched ranges is not where and what it was.
func checkOutside(t *testing.T, raw []byte, r *Result) {
	t.Helper()
	rest, at := r.Raw, 0
	for i, c := range r.Changed {
		gap := raw[at:c.Start]
		j := bytes.Index(rest, gap)
		if j < 0 || i == 0 && j != 0 {
			t.Fatalf("bytes [%d, %d) outside the matched spans changed", at, c.Start)
		}
		rest, at = rest[j+len(gap):], c.End
	}
	if !bytes.HasSuffix(rest, raw[at:]) {
		t.Fatalf("bytes from %d on, after the last matched span, changed", at)
	}
}

// FuzzApply: any bytes that are text, any two edits taken from them. A failure changes nothing; a success changes nothing
// outside the matched spans, and its diff leads from the old text to the new one.
func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n\td"), uint(0), uint(4), "x\ny", uint(5), uint(7), "", false)
	f.Add([]byte("\xff\xfea\x00\n\x00b\x00"), uint(0), uint(1), "x\n", uint(2), uint(3), "z", true)
	f.Add([]byte("caf\xe9 et th\xe9, d\xe9j\xe0 pr\xeats \xe0 c\xf4t\xe9\nname = value\n"), uint(4), uint(9), "a", uint(0), uint(2), "b", true)
	f.Add([]byte("aaa\raaa\r"), uint(0), uint(2), "b", uint(1), uint(3), "\n", true)
	f.Fuzz(func(t *testing.T, raw []byte, a1, b1 uint, new1 string, a2, b2 uint, new2 string, all bool) {
		text, err := textfile.Parse(raw)
		if err != nil || !utf8.ValidString(new1) || !utf8.ValidString(new2) {
			return
		}
		edits := []Edit{{Old: cut(text, a1, b1), New: new1, All: all}, {Old: cut(text, a2, b2), New: new2}}
		if new2 == "" && b2%2 == 0 {
			edits = edits[:1]
		}
		before := bytes.Clone(raw)
		r, err := Apply(text, edits)
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		checkOutside(t, raw, r)
		checkOracle(t, text, edits, r)
		after := textfile.Decode(r.Raw, text.Encoding())
		hunks := patch.Diff(text.Bytes(), after.Bytes(), 5)
		if got := applyHunks(text.Bytes(), hunks); !bytes.Equal(got, after.Bytes()) {
			t.Fatalf("the diff does not lead from the old text to the new one\n%q\n%q\n%q", text.Bytes(), after.Bytes(), got)
		}
	})
}

// cut takes a span of the text as a model would quote it: whole characters, endings read as \n.
func cut(t *textfile.Text, a, b uint) string {
	n := uint(len(t.Bytes()) + 1)
	start, end := min(a%n, b%n), max(a%n, b%n)
	return string(normalize([]byte(strings.ToValidUTF8(string(t.Bytes()[start:end]), ""))))
}

// applyHunks is a strict patch(1) in memory.
func applyHunks(old []byte, hunks []patch.Hunk) []byte {
	lines := bytes.SplitAfter(old, []byte("\n"))
	var out []byte
	at := 0
	for _, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start++
		}
		for ; at < start; at++ {
			out = append(out, lines[at]...)
		}
		for i, l := range h.Lines {
			if l[0] == '\\' {
				continue
			}
			end := "\n"
			if i+1 < len(h.Lines) && h.Lines[i+1][0] == '\\' {
				end = ""
			}
			if l[0] != '+' {
				if string(lines[at]) != l[1:]+end {
					return nil
				}
				at++
			}
			if l[0] != '-' {
				out = append(out, l[1:]+end...)
			}
		}
	}
	return append(out, bytes.Join(lines[at:], nil)...)
}

// TestPatchAppliesTheDiffOfEveryEdit makes random edits of random files in every kind of encoding and line ending, and lets
// patch(1) apply the diffs, many files to a run.
func TestPatchAppliesTheDiffOfEveryEdit(t *testing.T) {
	needtest.Program(t, "patch")
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	var diff strings.Builder
	want := map[string][]byte{}
	legacy := map[string]bool{}
	for i := 0; len(want) < 400; i++ {
		raw := randomFile(rng)
		text, err := textfile.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		edits := randomEdits(rng, text)
		r, err := Apply(text, edits)
		if err != nil {
			continue
		}
		checkOutside(t, raw, r)
		checkOracle(t, text, edits, r)
		name := fmt.Sprintf("f%04d", i)
		after := textfile.Decode(r.Raw, text.Encoding()).Bytes()
		if len(after) == 0 {
			continue // patch would remove the file
		}
		want[name] = after
		legacy[text.Encoding().String()] = !text.Encoding().UTF8() && !text.Encoding().Wide()
		diff.WriteString(patch.Unified(name, name, patch.Diff(text.Bytes(), after, 5)))
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, enc := range []string{"ISO-8859-1", "windows-1251", "GB18030", "Shift_JIS", "EUC-KR"} {
		if !legacy[enc] {
			t.Errorf("no file in %s was edited: %v", enc, legacy)
		}
	}
	cmd := exec.Command("patch", "--binary", "--quiet", "--fuzz=0", "-p0", "-d", dir)
	cmd.Stdin = strings.NewReader(diff.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v\n%s", err, out)
	}
	for name, w := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, w) {
			t.Errorf("%s: patched %q, want %q", name, got, w)
		}
	}
}

// fileKinds are encodings with words of a language that they are used for.
var fileKinds = []struct {
	encoding string
	words    []string
}{
	{"UTF-8", []string{"œuvre", "漢字"}},
	{"UTF-8 with BOM", []string{"œuvre", "漢字"}},
	{"UTF-16LE with BOM", []string{"œuvre", "漢字"}},
	{"UTF-16BE with BOM", []string{"œuvre", "漢字"}},
	{"ISO-8859-1", []string{"Voilà l'été", "une équipe déjà prête", "les événements très récents"}},
	{"windows-1251", []string{"Этот файл нужен для проверки", "остальные байты должны остаться"}},
	{"GB18030", []string{"这是一个用来测试编码检测的文件", "其他的字节保持不变"}},
	{"Shift_JIS", []string{"これは文字コードの判定を確かめる", "編集した後も、他のバイトはそのまま"}},
	{"EUC-KR", []string{"이 파일은 문자 인코딩 감지를 시험하기 위한", "편집한 뒤에도 다른 바이트는"}},
}

func randomFile(rng *rand.Rand) []byte {
	words := []string{"alpha", "beta", "gamma", "delta = 1", "\treturn x", "    if y {", "}", ""}
	endings := [][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n"}}[rng.IntN(4)]
	kind := fileKinds[rng.IntN(len(fileKinds))]
	enc, _ := textfile.ByName(kind.encoding)
	words = append(words, kind.words...)
	var b strings.Builder
	b.WriteString(strings.Join(kind.words, " ") + endings[0]) // enough to tell the encoding by
	for range 2 + rng.IntN(30) {
		fmt.Fprintf(&b, "%s %d%s", words[rng.IntN(len(words))], rng.IntN(40), endings[rng.IntN(len(endings))])
	}
	if rng.IntN(3) == 0 {
		b.WriteString("no end")
	}
	raw, _ := enc.Encode(b.String())
	return append(enc.BOM(), raw...)
}

func randomEdits(rng *rand.Rand, t *textfile.Text) []Edit {
	news := []string{"", "x", "new\nlines\n", "\n", "tail"}
	var out []Edit
	for range 1 + rng.IntN(3) {
		a := rng.Uint32()
		out = append(out, Edit{Old: cut(t, uint(a), uint(a)+uint(rng.IntN(40))), New: news[rng.IntN(len(news))], All: rng.IntN(3) == 0})
	}
	return out
}
