package workspace_test

import (
	"context"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

func TestUnsavedTextIsWhatWouldBeSaved(t *testing.T) {
	utf16, err := textfile.Lookup("utf-16le")
	if err != nil {
		t.Fatal(err)
	}
	latin, err := textfile.Lookup("iso-8859-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, editor, disk string
		enc                textfile.Encoding
		want               string
		differs            bool
	}{
		{name: "the same text", editor: "a\nb\n", disk: "a\nb\n"},
		{name: "line endings that the editor does not hold", editor: "a\nb\n", disk: "a\r\nb\r\n"},
		{name: "a byte-order mark that it does not hold", editor: "\ufeffa\n", disk: "a\n"},
		{name: "another text", editor: "a\nB\n", disk: "a\nb\n", want: "a\nB\n", differs: true},
		{name: "another text in a file that ends its lines otherwise", editor: "a\nB\n", disk: "a\r\nb\r\n", want: "a\r\nB\r\n", differs: true},
		{name: "another text in another encoding", editor: "aé", disk: "a\xe8", enc: latin, want: "a\xe9", differs: true},
		{name: "another text in two bytes a character", editor: "B", disk: "a\x00", enc: utf16, want: "B\x00", differs: true},
		{name: "a text that the encoding cannot hold", editor: "a漢", disk: "a\xe8", enc: latin},
		{name: "something in an empty file", editor: "new\n", disk: "", want: "new\n", differs: true},
		{name: "nothing any more", editor: "", disk: "old\n", want: "", differs: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws, err := workspace.Open(t.TempDir(), &workspace.Options{State: t.TempDir(), Unsaved: func(_ context.Context, path string) (string, bool) { return c.editor, path == "/p/a.txt" }})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			got, differs := ws.Unsaved(t.Context(), "/p/a.txt", []byte(c.disk), c.enc)
			if string(got) != c.want || differs != c.differs {
				t.Errorf("got %q, %v, want %q, %v", got, differs, c.want, c.differs)
			}
			if got, differs := ws.Unsaved(t.Context(), "/p/other.txt", []byte(c.disk), c.enc); differs {
				t.Errorf("a file that the editor does not have: %q", got)
			}
		})
	}
}
