//go:build unix

package haft_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/test/changetest"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/model/script"
)

// TestAProgramIsShownTheChange drives the command line with an edit of three places in a
// file whose encoding, line endings and last line are out of the ordinary. The file is
// changed while the program decides, so that it is asked twice; what it was shown last is
// what happens.
func TestAProgramIsShownTheChange(t *testing.T) {
	built, err := builtHaft()
	if err != nil {
		t.Fatal(err)
	}
	cli := commandLine{built, true}
	dir := t.TempDir()
	path := filepath.Join(dir, "f.txt")
	// Little-endian UTF-16 with its mark, CRLF and no end of the last line.
	utf16 := func(text string) (raw []byte) {
		for _, r := range "\uFEFF" + text {
			raw = append(raw, byte(r), byte(r>>8))
		}
		return raw
	}
	before := utf16("head\r\n\r\none\r\né one\r\none")
	s := scripted(t,
		[]script.Block{use("toolu_1", "Read", object{"file_path": path})},
		[]script.Block{use("toolu_2", "Edit", object{"file_path": path, "old_string": "one", "new_string": "1\n2", "expected_replacements": 3})},
		[]script.Block{say("Done.")})
	opts := cli.options(t, s)
	opts.Dir = dir
	write := func(raw []byte) {
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(before)
	var shown []*haft.ToolRequest
	opts.CanUseTool = func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
		if shown = append(shown, r); len(shown) == 1 {
			before = utf16("HEAD\r\n\r\none\r\né one\r\none")
			write(before)
		}
		return haft.Allow(), nil
	}
	transcript(t, cli, "edit", opts)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(shown) != 2 || shown[1].Change == nil || shown[0].Change.Digest == shown[1].Change.Digest {
		t.Fatalf("asked %d times", len(shown))
	}
	was, is, err := changetest.Texts(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var hunks []patch.Hunk
	for _, h := range shown[1].Change.Files[0].Hunks {
		hunks = append(hunks, patch.Hunk(h))
	}
	got, err := changetest.Apply(was, hunks)
	if err != nil || !bytes.Equal(got, is) || !bytes.Contains(is, []byte("HEAD\r\n\r\n1\r\n2\r\né 1\r\n2\r\n1\r\n2")) {
		t.Errorf("what is shown makes %q, the file has %q: %v", got, is, err)
	}
}
