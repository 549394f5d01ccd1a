package cli

import (
	"bytes"
	"testing"
)

// However a text is cut into pieces, its lines end between words.
func TestPiecesAreFoldedBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"I check how far it got before it runs twice.\n\nDone.\n":         "I check how far it\ngot before it runs\ntwice.\n\nDone.\n",
		"exactly twenty signs in it\n":                                    "exactly twenty signs\nin it\n",
		"它启动过一次，但没有完成。没有\n":                                               "它启动过一次，但没有\n完成。没有\n",
		"\x1b[1m▸ Bash go test ./... and more\x1b[0m\n":                   "\x1b[1m▸ Bash go test ./...\n  and more\x1b[0m\n",
		"\x1b[31m  ✗ Bash sh -c: denied: a rule denies it\x1b[0m\nNext\n": "\x1b[31m  ✗ Bash sh -c:\n    denied: a rule\n    denies it\x1b[0m\nNext\n",
	} {
		for _, size := range []int{1, 3, len(text)} {
			if text[0] == 0x1b && size < len(text) {
				continue // such lines are written whole
			}
			var b bytes.Buffer
			f := &pieceFolder{w: &b, width: 20}
			runes := []rune(text)
			for len(runes) > 0 {
				n := min(size, len(runes))
				if _, err := f.Write([]byte(string(runes[:n]))); err != nil {
					t.Fatal(err)
				}
				runes = runes[n:]
			}
			if got := b.String(); got != want {
				t.Errorf("in pieces of %d:\n%q\nwant\n%q", size, got, want)
			}
		}
	}
}
