package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestALineThatIsTooLongCostsOnlyItself(t *testing.T) {
	long := `{"id":7,"result":"` + strings.Repeat("a", 200_000) + `"}`
	l := newLineReader(strings.NewReader("one\r\n"+long+"\ntwo\n\nlast"), 100_000)
	for _, want := range []string{"one\r\n", "", "two\n", "\n", "last"} {
		line, err := l.next()
		if want == "" {
			if err != errLong || !bytes.HasPrefix(line, []byte(`{"id":7,`)) || len(line) != headLength {
				t.Fatalf("%d bytes, %v", len(line), err)
			}
			continue
		}
		if err != nil || string(line) != want {
			t.Fatalf("got %q, %v, want %q", line, err, want)
		}
	}
	if _, err := l.next(); err != io.EOF {
		t.Error(err)
	}
}

// FuzzLines holds the reader against splitting the whole text.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nccccccccccc\nd"), 5)
	f.Add([]byte("\xff\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		limit = 1 + limit&0xffff
		l := newLineReader(iotest.OneByteReader(bytes.NewReader(text)), limit)
		for _, want := range bytes.SplitAfter(text, []byte("\n")) {
			if len(want) == 0 {
				break
			}
			line, err := l.next()
			switch {
			case len(want) > limit:
				if !errors.Is(err, errLong) {
					t.Fatalf("a line of %d bytes: %v", len(want), err)
				}
			case err != nil || !bytes.Equal(line, want):
				t.Fatalf("got %q, %v, want %q", line, err, want)
			}
		}
		if _, err := l.next(); err != io.EOF {
			t.Fatal(err)
		}
	})
}

func TestLinesAreKeptWithoutControls(t *testing.T) {
	var text strings.Builder
	for range 100 {
		text.WriteString("noise\n")
	}
	text.WriteString("\x1b[31mred\x1b[0m\r\n\n" + strings.Repeat("x", 100_000) + "\nlast")
	var tl tail
	tl.follow(strings.NewReader(text.String()))
	lines := tl.snapshot()
	if last := lines[len(lines)-3:]; last[0] != "[31mred[0m" || len(last[1]) != tailLength || last[2] != "last" {
		t.Errorf("%d lines, the last %.40q", len(lines), lines[len(lines)-3:])
	}
}
