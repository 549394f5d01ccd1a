package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
)

// Files are brought back, after what would be done was shown; changes of other programs
// are in the way.
func TestRewindAndDiff(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(target, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, _ := json.Marshal(map[string]string{"file_path": target})
	s := startSite(t, servetest.Scripted(t, script.Turn{Blocks: []script.Block{{Tool: "Read", Input: read}}}, servetest.Writes(target, "new\n"), servetest.Says("Over.")), "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write", Mode: "acceptEdits"}, &row)
	path := "/v1/sessions/" + row.ID
	s.feed(path+"/events", "").Message("assistant", "Over.")
	var diff struct {
		Files []struct{ Hunks []struct{ Lines []string } }
	}
	if s.must("GET", path+"/diff", nil, &diff); len(diff.Files) != 1 || fmt.Sprint(diff.Files[0].Hunks[0].Lines) != "[-old +new]" {
		t.Errorf("the diff is %+v", diff)
	}
	var points serve.Checkpoints
	if s.must("GET", path+"/checkpoints", nil, &points); len(points.Checkpoints) != 2 || points.Checkpoints[1].Files[0] != target {
		t.Fatalf("the checkpoints are %+v", points)
	}
	use := points.Checkpoints[1].ID
	if s.must("GET", path+"/diff?call="+use, nil, &diff); len(diff.Files) != 1 {
		t.Errorf("the diff of the call is %+v", diff)
	}
	var file serve.FileText
	if s.must("GET", path+"/file?path=a.txt", nil, &file); file.Text != "new\n" {
		t.Errorf("the file is %+v", file)
	}
	to := points.Checkpoints[0].ID
	var done serve.Rewound
	if s.must("POST", path+"/rewind", serve.Rewind{To: to, DryRun: true}, &done); done.Done || len(done.Files) != 1 {
		t.Errorf("it would do %+v", done)
	}
	if err := os.WriteFile(target, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := s.refused("POST", path+"/rewind", serve.Rewind{To: to}, http.StatusConflict); p.Code != "conflict" || p.Paths[0] != target {
		t.Errorf("a change of another program: %+v", p)
	}
	s.must("POST", path+"/close", nil, nil)
	s.must("POST", path+"/rewind", serve.Rewind{To: to, Force: true}, &done)
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "old\n" || !done.Done || done.Undo == "" {
		t.Errorf("after the rewind the file has %q, %v; %+v", raw, err, done)
	}
	s.refused("POST", path+"/rewind", serve.Rewind{To: "none"}, http.StatusNotFound)
}
