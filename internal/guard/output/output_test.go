package output_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/tool"
)

func text(s string) []tool.Block { return tool.Text(s).Content }

func TestAResultWithinItsLimitIsUntouched(t *testing.T) {
	got, kept := output.NewStore(filepath.Join(t.TempDir(), "none")).Bound("c1", text("hello"), 5)
	if kept != nil || tool.JoinText(got) != "hello" {
		t.Errorf("got %q, kept %v", tool.JoinText(got), kept)
	}
}

func TestALongResultIsKeptWholeAndAbridged(t *testing.T) {
	var lines []string
	for range 5000 {
		lines = append(lines, "a line of output")
	}
	lines[0], lines[len(lines)-1] = "FIRST", "LAST"
	whole := strings.Join(lines, "\n")
	got, kept := output.NewStore(t.TempDir()).Bound("toolu_1", text(whole), 10_000)
	s := tool.JoinText(got)
	if n := utf8.RuneCountInString(s); n > 10_000 || n < 9_000 {
		t.Errorf("%d characters, want nearly 10,000", n)
	}
	if !strings.HasPrefix(s, "[The result is too long to show: 84976 characters in 5000 lines.") || !strings.Contains(s, "\nFIRST\n") || !strings.HasSuffix(s, "\nLAST") {
		t.Errorf("want the omission first, then head and tail:\n%.300s", s)
	}
	file, err := os.ReadFile(kept.Path)
	if err != nil || string(file) != whole || !strings.Contains(s, kept.Path) {
		t.Errorf("kept %d bytes of %d: %v", len(file), len(whole), err)
	}
}

func TestWhatCannotBeKeptIsSaid(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		store *output.Store
		want  string
	}{
		{"no store", nil, "The rest was not saved"},
		{"a store that cannot be written", output.NewStore(filepath.Join(blocked, "sub")), "could not be saved"},
	} {
		got, kept := c.store.Bound("c1", text(strings.Repeat("x", 9000)), 1000)
		if s := tool.JoinText(got); !strings.Contains(s, c.want) || kept == nil || kept.Path != "" {
			t.Errorf("%s: kept %v, %.200s", c.name, kept, s)
		}
	}
}

func TestACallIDCannotLeaveTheStore(t *testing.T) {
	dir := t.TempDir()
	_, kept := output.NewStore(filepath.Join(dir, "kept")).Bound("../../x/../y", text(strings.Repeat("x", 900)), 100)
	if filepath.Dir(kept.Path) != filepath.Join(dir, "kept") {
		t.Errorf("kept in %s", kept.Path)
	}
}

func TestAnEarlierResultStays(t *testing.T) {
	s := output.NewStore(t.TempDir())
	_, first := s.Bound("call-0", text(strings.Repeat("x", 900)), 100)
	_, second := s.Bound("call-0", text(strings.Repeat("y", 900)), 100)
	if got, err := os.ReadFile(first.Path); err != nil || got[0] != 'x' || first.Path == second.Path {
		t.Errorf("%s holds %.5s, %v", first.Path, got, err)
	}
}

func TestShorten(t *testing.T) {
	if got := output.Shorten("short", 5); got != "short" {
		t.Errorf("got %q", got)
	}
	if got := output.Shorten(strings.Repeat("é", 100), 20); utf8.RuneCountInString(got) > 20 || !strings.Contains(got, "…") {
		t.Errorf("got %q", got)
	}
}

func TestATooLargeImageIsReplacedByASentence(t *testing.T) {
	content := []tool.Block{{Type: tool.ImageBlock, Data: make([]byte, output.MaxData+1)}, {Type: tool.ImageBlock, Data: []byte{1}},
		{Type: tool.ImageBlock, Data: make([]byte, output.MaxData)}}
	got, kept := output.NewStore(t.TempDir()).Bound("c1", content, 1000)
	if got[0].Type != tool.TextBlock || got[1].Type != tool.ImageBlock || got[2].Type != tool.TextBlock || kept == nil {
		t.Errorf("got %v %v, kept %v", got[0].Type, got[1].Type, kept)
	}
	if content[0].Type != tool.ImageBlock {
		t.Error("the tool's own content was changed")
	}
}

func TestBoundNeverCutsACharacterOrPassesTheLimit(t *testing.T) {
	f := func(s string, n uint16) bool {
		limit := 600 + int(n)%600
		got, _ := (*output.Store)(nil).Bound("c", text(strings.Repeat("é\n"+s, 50)), limit)
		out := tool.JoinText(got)
		return utf8.ValidString(out) && utf8.RuneCountInString(out) <= limit
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}
