package edits

import (
	"bytes"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// checkOracle judges a result without what Apply says about it. It looks for the old strings itself: no byte before the first
// and after the last place may differ, and one edit must give what replacing in the plain text gives.
func checkOracle(t *testing.T, text *textfile.Text, edits []Edit, r *Result) {
	t.Helper()
	whole := string(text.Bytes())
	if strayReturn(whole) && strings.Contains(whole, "\n") {
		return // a lone \r is a character here, and an ending in the plain text
	}
	old := plain(whole)
	first, last := len(old), 0
	for _, e := range edits {
		if i := strings.Index(old, plain(e.Old)); i >= 0 {
			first, last = min(first, i), max(last, strings.LastIndex(old, plain(e.Old))+len(plain(e.Old)))
		} else if len(edits) == 1 {
			return // found under another indentation
		}
	}
	raw := text.Raw()
	if same := plain(decoded(text, raw[:sharedPrefix(raw, r.Raw)])); len(same) < first {
		t.Fatalf("bytes before the first match changed: %d of %d are the same\n%q\n%q", len(same), first, raw, r.Raw)
	}
	if enc := text.Encoding(); enc.UTF8() || enc.Wide() && len(raw)%2 == 0 { // elsewhere a suffix does not say where characters begin
		n := sharedSuffix(raw, r.Raw)
		if enc.Wide() {
			n &^= 1
		}
		if same := plain(decoded(text, append(enc.BOM(), raw[len(raw)-n:]...))); len(same) < len(old)-last {
			t.Fatalf("bytes after the last match changed: %d of %d are the same\n%q\n%q", len(same), len(old)-last, raw, r.Raw)
		}
	}
	if e := edits[0]; len(edits) == 1 && !strayReturn(e.New) {
		want := strings.ReplaceAll(old, plain(e.Old), plain(e.New))
		if got := plain(decoded(text, r.Raw)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func decoded(t *textfile.Text, raw []byte) string {
	if len(raw) < len(t.Encoding().BOM()) {
		return ""
	}
	return string(textfile.Decode(raw, t.Encoding()).Bytes())
}

// plain writes every ending as \n.
func plain(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func strayReturn(s string) bool { return strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\r") }

func sharedPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func sharedSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// TestTheOracleSeesWhatItIsFor changes a byte outside the matches.
func TestTheOracleSeesWhatItIsFor(t *testing.T) {
	text := parse(t, "one\r\ntwo\nthree\r\n")
	edits := []Edit{{Old: "two", New: "2"}}
	r, err := Apply(text, edits)
	if err != nil {
		t.Fatal(err)
	}
	checkOracle(t, text, edits, r)
	for i, damaged := range [][]byte{bytes.Replace(r.Raw, []byte("one"), []byte("One"), 1), bytes.Replace(r.Raw, []byte("e\r\n"), []byte("e\n"), 1), r.Raw[:len(r.Raw)-1]} {
		if !fails(func(t *testing.T) { checkOracle(t, text, edits, &Result{Raw: damaged}) }) {
			t.Errorf("damage %d is not seen", i)
		}
	}
}

// fails runs a check that must not pass.
func fails(check func(*testing.T)) bool {
	t := &testing.T{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(t)
	}()
	<-done
	return t.Failed()
}
