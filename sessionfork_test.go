package haft_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft"
)

func TestASessionIsForked(t *testing.T) {
	root := t.TempDir()
	keep(t, root, "-p", "s", 0, prompt("1", "null", "a <b>"), `{"type":"attachment","uuid":"l","parentUuid":"1"}`,
		`{"type":"assistant","uuid":"2","parentUuid":"l","message":{"role":"assistant","content":[]}}`, prompt("3", `"2"`, "c"),
		prompt("x", `"1"`, "rewound away")[:40], prompt("4", `"3"`, "d"))
	before, err := os.ReadFile(filepath.Join(root, "projects/-p/s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	opts := haft.SessionsOptions{ConfigDir: root}
	all, err := haft.ForkSession("s", &haft.ForkOptions{SessionsOptions: opts})
	if err != nil {
		t.Fatal(err)
	}
	some, err := haft.ForkSession("s", &haft.ForkOptions{SessionsOptions: opts, UpTo: "2", Title: "Half"})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, root, "-q", "back", 0, prompt("1", "null", "a <b>"), prompt("2", `"1"`, "b"), prompt("3", `"2"`, "rewound away"),
		`{"type":"system","subtype":"informational","uuid":"b","parentUuid":"2","haft":{"back":{}}}`)
	back, err := haft.ForkSession("back", &haft.ForkOptions{SessionsOptions: opts})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"s": 4, all: 4, some: 2, back: 2} {
		messages, err := haft.SessionMessages(id, &opts)
		if err != nil || len(messages) != want {
			t.Errorf("%s has %d messages, want %d, %v", id, len(messages), want, err)
		}
		if id != "s" && (messages[0].UUID == "1" || messages[1].UUID == "2" || !strings.Contains(string(messages[0].Message), "a <b>")) {
			t.Errorf("the copies are %+v", messages)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "projects/-p", some+".jsonl"))
	if err != nil || !strings.Contains(string(text), `"forkedFrom":{"messageUuid":"2","sessionId":"s"}`) || strings.Contains(string(text), `"sessionId":"s","`) {
		t.Errorf("the file is %s, %v", text, err)
	}
	list, err := haft.Sessions(&opts)
	titles := ""
	for _, s := range list {
		titles += s.Title
	}
	if err != nil || len(list) != 5 || titles != "Half" {
		t.Errorf("%+v, %v", list, err)
	}
	if after, err := os.ReadFile(filepath.Join(root, "projects/-p/s.jsonl")); err != nil || string(after) != string(before) {
		t.Errorf("the session itself has changed: %v", err)
	}
	if _, err := haft.ForkSession("s", &haft.ForkOptions{SessionsOptions: opts, UpTo: "nobody"}); err == nil {
		t.Error("a message that is not there is no error")
	}
	if _, err := haft.ForkSession("none", &haft.ForkOptions{SessionsOptions: opts}); !errors.Is(err, haft.ErrNoSession) {
		t.Errorf("an unknown session: %v", err)
	}
}
