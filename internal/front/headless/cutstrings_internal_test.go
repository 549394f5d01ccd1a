package headless

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestLongStringsAreCut(t *testing.T) {
	long := strings.Repeat("a\"b\\c\n\u2028ü😀\x01", 3000)
	exact, quotes := strings.Repeat("x", maxString), strings.Repeat(`\"`, maxString/2)
	for _, value := range []any{
		"short", exact, exact + "x", long, quotes, quotes + `\`, 5, nil, []any{}, map[string]any{},
		map[string]any{long: "a name stays", "text": long, "list": []any{long, exact, map[string]any{"x": long + "!"}, 1.5, true}},
	} {
		for _, escape := range []bool{true, false} {
			var raw strings.Builder
			enc := json.NewEncoder(&raw)
			enc.SetEscapeHTML(escape)
			if err := enc.Encode(value); err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(cutStrings([]byte(raw.String()), "in a file"), &got); err != nil {
				t.Fatal(err)
			}
			compareCut(t, value, got)
		}
	}
	if n := decodedLength([]byte(`"\ud83d\ude00\u00fc\u0041\n\\\""`)); n != len("😀üA\n\\\"") {
		t.Errorf("%d bytes", n)
	}
}

func compareCut(t *testing.T, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case string:
		cut, _ := got.(string)
		if len(want) <= maxString {
			if cut != want {
				t.Errorf("%.50q became %.50q", want, cut)
			}
			return
		}
		text, note, ok := strings.Cut(cut, "… ")
		if !ok || len(text) < head/6 || !strings.HasPrefix(want, text) || note != fmt.Sprintf("[%d bytes, cut here: in a file]", len(want)) {
			t.Errorf("%.50q of %d bytes became %q", want, len(want), cut)
		}
	case []any:
		for i := range want {
			compareCut(t, want[i], got.([]any)[i])
		}
	case map[string]any:
		for name := range want {
			compareCut(t, want[name], got.(map[string]any)[name])
		}
	}
}
