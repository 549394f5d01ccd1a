package haft_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft"
)

// keep writes the file of a session.
func keep(t *testing.T, root, folder, id string, age time.Duration, lines ...string) {
	t.Helper()
	dir := filepath.Join(root, "projects", folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id+".jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func prompt(uuid, parent, text string) string {
	return `{"type":"user","uuid":"` + uuid + `","parentUuid":` + parent + `,"cwd":"/a/b.c","gitBranch":"main","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}]}}`
}

func TestSessionsAreListedNewestFirst(t *testing.T) {
	root := t.TempDir()
	keep(t, root, "-a-b-c", "old", time.Hour, `{"type":"queue-operation"}`, prompt("1", "null", "first"), prompt("2", `"1"`, "second"),
		`{"type":"custom-title","customTitle":"One","sessionId":"old"}`, `{"type":"custom-title","customTitle":"Two","sessionId":"old"}`, `{"type":"tag","tag":"t"}`, `{"type":"user","cut`)
	keep(t, root, "-a-b-c", "new", time.Minute, prompt("1", "null", "hello"))
	keep(t, root, "-elsewhere", "other", time.Second, strings.ReplaceAll(prompt("1", "null", "x"), "/a/b.c", "/elsewhere"))
	keep(t, root, "-a-b-c", "twin", time.Second, strings.ReplaceAll(prompt("1", "null", "x"), "/a/b.c", "/a/b/c"))

	type row struct{ ID, Title, FirstPrompt, Dir, Branch, Tag string }
	list := func(opts haft.SessionsOptions) []row {
		opts.ConfigDir = root
		all, err := haft.Sessions(&opts)
		if err != nil {
			t.Fatal(err)
		}
		var rows []row
		for _, s := range all {
			rows = append(rows, row{s.ID, s.Title, s.FirstPrompt, s.Dir, s.Branch, s.Tag})
		}
		return rows
	}
	want := []row{{"new", "", "hello", "/a/b.c", "main", ""}, {"old", "Two", "first", "/a/b.c", "main", "t"}}
	if diff := cmp.Diff(want, list(haft.SessionsOptions{Dir: "/a/b.c"})); diff != "" {
		t.Errorf("sessions of a directory (-want +got):\n%s", diff)
	}
	if got := list(haft.SessionsOptions{}); len(got) != 4 {
		t.Errorf("all sessions: %v", got)
	}
	if diff := cmp.Diff(want[:1], list(haft.SessionsOptions{Dir: "/a/b.c", Limit: 1})); diff != "" {
		t.Errorf("the newest (-want +got):\n%s", diff)
	}
}

func TestNoSessionsAreNoError(t *testing.T) {
	if list, err := haft.Sessions(&haft.SessionsOptions{ConfigDir: t.TempDir()}); err != nil || list != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSessionMessagesFollowTheChain(t *testing.T) {
	root := t.TempDir()
	keep(t, root, "-p", "s", 0, prompt("1", "null", "a"), prompt("2", `"1"`, "rewound away"),
		`{"type":"attachment","uuid":"3","parentUuid":"1"}`, prompt("4", `"3"`, "b"),
		`{"type":"assistant","uuid":"9","parentUuid":"8","isSidechain":true,"message":{}}`, `{"type":"attachment","uuid":"5","parentUuid":"4"}`)
	keep(t, root, "-p", "circle", 0, prompt("1", `"2"`, "a"), prompt("2", `"1"`, "b"))
	back := `{"type":"system","subtype":"informational","uuid":"b","parentUuid":"1","haft":{"back":{}}}`
	keep(t, root, "-p", "back", 0, prompt("1", "null", "a"), prompt("2", `"1"`, "rewound away"), back)
	keep(t, root, "-p", "since", 0, prompt("1", "null", "a"), prompt("2", `"1"`, "rewound away"), back, prompt("3", `"b"`, "c"))
	opts := &haft.SessionsOptions{ConfigDir: root}
	for id, want := range map[string][]string{"s": {"1", "4"}, "circle": {"1", "2"}, "back": {"1"}, "since": {"1", "3"}} {
		messages, err := haft.SessionMessages(id, opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range messages {
			got = append(got, m.UUID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	for _, id := range []string{"none", "../p/s", "*", ""} {
		if _, err := haft.SessionMessages(id, opts); !errors.Is(err, haft.ErrNoSession) {
			t.Errorf("SessionMessages(%q): %v", id, err)
		}
	}
}
