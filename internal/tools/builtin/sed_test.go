package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// TestSedChangesOnlyWhatItMatches runs a substitution over a file in Shift_JIS, which writes one character in two ways.
func TestSedChangesOnlyWhatItMatches(t *testing.T) {
	enc, _ := textfile.ByName("Shift_JIS")
	raw, err := enc.Encode("// これは文字コードの判定を確かめるためのファイルです。\n// 編集した後も、他のバイトはそのまま残るはずです。表示とソースも同じです。\n// カタカナのテストも含みます。")
	if err != nil {
		t.Fatal(err)
	}
	comment := string(raw) + "\xfa\x54\n"
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(comment+"name = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir, &workspace.Options{Home: dir, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if f, err := ws.Load(ws.Look(path)); err != nil || f.Text.Encoding().String() != "Shift_JIS" {
		t.Fatal("the file is not taken for Shift_JIS: ", err)
	}
	sed := builtin.SedEdits(ws)
	ctx := context.Background()
	change := func(s string) (string, error) { return strings.Replace(s, "= 1", "= 2", 1), nil }
	p, err := sed.Preview(ctx, &tool.Call{}, path, change)
	if err != nil {
		t.Fatal(err)
	}
	if err := sed.Apply(ctx, &tool.Call{Approved: p.Digest()}, path, change); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(p.Files[0].After.Raw) != string(got) {
		t.Errorf("shown %x, made %x", p.Files[0].After.Raw, got)
	}
	if want := comment + "name = 2\n"; string(got) != want {
		t.Errorf("got %x, want %x", got, want)
	}
}
