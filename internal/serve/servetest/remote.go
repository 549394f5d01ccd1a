package servetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/serve"
)

// A program of the Go SDK moves to a server by its transport alone: its permission
// callback decides, the session is the server's, and others watch it.
func remote(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := open(t, Scripted(t, Writes(target, "from afar"), Says("Written.")))()
	asked := ""
	opts := &haft.Options{
		Transport: haft.Remote(s.URL+"/#token="+Token, ""), Dir: dir,
		CanUseTool: func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
			asked = r.ToolName
			return haft.Allow(), nil
		},
	}
	text, session := "", ""
	for m, err := range haft.Query(t.Context(), "write", opts) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.(*haft.Result); ok {
			text, session = r.Result, r.SessionID
		}
	}
	if raw, err := os.ReadFile(target); asked != "Write" || text != "Written." || err != nil || string(raw) != "from afar" {
		t.Errorf("asked about %q, answered %q; the file has %q, %v", asked, text, raw, err)
	}
	var row serve.Session
	if s.Must("GET", "/v1/sessions/"+session, nil, &row); row.Turns != 1 {
		t.Errorf("the session on the server is %+v", row)
	}
	for what, c := range map[string]struct {
		options haft.Options
		want    string
	}{
		"a wrong token":       {haft.Options{Transport: haft.Remote(s.URL, "wrong"), Dir: dir}, "token is wrong"},
		"no folder":           {haft.Options{Transport: haft.Remote(s.URL, Token)}, "Options.Dir"},
		"a folder of nowhere": {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: "/none"}, "is not a folder"},
		"no permissions":      {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: dir, Mode: "bypassPermissions"}, "only be turned off in a terminal"},
		"nobody there":        {haft.Options{Transport: haft.Remote("http://127.0.0.1:1", Token), Dir: dir}, "refused"},
	} {
		var failed error
		for _, err := range haft.Query(t.Context(), "hello", &c.options) {
			failed = errors.Join(failed, err)
		}
		if failed == nil || !strings.Contains(failed.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, failed, c.want)
		}
	}
}
