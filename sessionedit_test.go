package haft_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft"
)

func TestSessionsAreRenamedAndTagged(t *testing.T) {
	root := t.TempDir()
	keep(t, root, "-p", "s", 0, prompt("1", "null", "a"), prompt("2", `"1"`, "b"), `{"type":"user","cut`)
	opts := &haft.SessionsOptions{ConfigDir: root}
	for _, err := range []error{
		haft.RenameSession("s", "One", opts), haft.TagSession("s", "draft", opts),
		haft.RenameSession("s", " Two \"quoted\"\n", opts), haft.TagSession("s", "", opts), haft.TagSession("s", "done", opts),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := haft.Sessions(opts)
	if err != nil || len(list) != 1 || list[0].Title != `Two "quoted"` || list[0].Tag != "done" {
		t.Errorf("%+v, %v", list, err)
	}
	if messages, err := haft.SessionMessages("s", opts); err != nil || len(messages) != 2 {
		t.Errorf("the conversation has changed: %v, %v", messages, err)
	}
	if err := haft.TagSession("s", "", opts); err != nil {
		t.Fatal(err)
	}
	if list, err := haft.Sessions(opts); err != nil || list[0].Tag != "" {
		t.Errorf("the tag is still there: %+v, %v", list, err)
	}
	if err := haft.RenameSession("s", " ", opts); err == nil {
		t.Error("an empty title is no error")
	}
}

func TestSubagentsOfASession(t *testing.T) {
	root := t.TempDir()
	opts := &haft.SessionsOptions{ConfigDir: root}
	keep(t, root, "-p", "s", 0, prompt("1", "null", "a"))
	if ids, err := haft.Subagents("s", opts); err != nil || ids != nil {
		t.Errorf("without sub-agents: %v, %v", ids, err)
	}
	keep(t, root, "-p/s/subagents", "agent-b2", 0, `{"type":"user","uuid":"1","isSidechain":true,"message":{"role":"user","content":"look"}}`,
		`{"type":"assistant","uuid":"2","parentUuid":"1","isSidechain":true,"message":{"role":"assistant","content":[]}}`)
	keep(t, root, "-p/s/subagents", "agent-a1", 0)
	if err := os.WriteFile(filepath.Join(root, "projects/-p/s/subagents/agent-b2.meta.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	ids, err := haft.Subagents("s", opts)
	if diff := cmp.Diff([]string{"a1", "b2"}, ids); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	messages, err := haft.SubagentMessages("s", "b2", opts)
	if err != nil || len(messages) != 2 || messages[0].UUID != "1" || messages[1].Type != "assistant" {
		t.Errorf("%+v, %v", messages, err)
	}
	for _, agent := range []string{"none", "../../t", ""} {
		if _, err := haft.SubagentMessages("s", agent, opts); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("sub-agent %q: %v", agent, err)
		}
	}
}

func TestDeletedSessionsAreGone(t *testing.T) {
	root := t.TempDir()
	opts := &haft.SessionsOptions{ConfigDir: root}
	keep(t, root, "-p", "s", 0, prompt("1", "null", "a"))
	keep(t, root, "-p/s/subagents", "agent-a1", 0, "{}")
	keep(t, root, "-p", "other", 0, prompt("1", "null", "a"))
	if err := haft.DeleteSession("s", opts); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(root, "projects/-p"))
	if err != nil || len(left) != 1 || left[0].Name() != "other.jsonl" {
		t.Errorf("left: %v, %v", left, err)
	}
	_, subagents := haft.Subagents("s", opts)
	_, messages := haft.SubagentMessages("s", "a1", opts)
	for what, err := range map[string]error{
		"rename": haft.RenameSession("s", "x", opts), "tag": haft.TagSession("../p/other", "x", opts), "delete": haft.DeleteSession("*", opts),
		"list sub-agents": subagents, "read a sub-agent": messages,
	} {
		if !errors.Is(err, haft.ErrNoSession) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
