package session_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

const sdkVersion = "0.3.325"

// sdk installs the official SDK once for this user and returns a function that
// asks it about the sessions in config.
func sdk(t *testing.T, config string) func(into any, args ...string) {
	t.Helper()
	dir := needtest.NPM(t, "@anthropic-ai/claude-agent-sdk@"+sdkVersion)
	script, err := filepath.Abs("testdata/sdk/sessions.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return func(into any, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config)
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("sdk %v: %v", args, err)
		}
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("sdk %v: %v in %s", args, err, out)
		}
	}
}

type sdkMessage struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// contents shows what the SDK says was said, shortened.
func contents(messages []sdkMessage) (out []string) {
	for _, m := range messages {
		var blocks []model.Block
		text := string(m.Message.Content)
		if json.Unmarshal(m.Message.Content, &blocks) == nil && len(blocks) > 0 {
			b := blocks[0]
			text = strings.TrimSpace(b.Text + " " + b.Name + " " + tool.JoinText(b.Content))
		}
		out = append(out, m.Type+": "+text[:min(len(text), 30)])
	}
	return out
}

func TestTheOfficialSDKReadsOurSessions(t *testing.T) {
	config, cwd := t.TempDir(), t.TempDir()
	ask := sdk(t, config)
	store := session.Open(filepath.Join(config, "projects"))
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd, Version: "1.0", GitBranch: "trunk"})
	long := strings.Repeat("0123456789", 20_000)
	sessiontest.Add(t, s, sessiontest.Prompt("what is here?"), sessiontest.Answer("m1", model.TextOf("I look.")), sessiontest.Answer("m1", sessiontest.Use("a", "Read", `{}`)))
	sessiontest.Record(t, s, "a", "Read", tool.Pure, sched.Finished, "text a")
	sessiontest.Add(t, s, sessiontest.Answer("m1", sessiontest.Use("b", "Bash", `{}`)))
	sessiontest.Record(t, s, "b", "Bash", tool.Unsafe, sched.Finished, long)
	sessiontest.Add(t, s, sessiontest.Answer("m3", model.TextOf("Done.")), session.Entry{State: &session.State{Name: "title", Value: json.RawMessage(`"our title"`)}})
	sessiontest.Close(t, s)
	torn, err := os.OpenFile(s.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"type":"user","uu`); err != nil {
		t.Fatal(err)
	}
	torn.Close()
	r := sessiontest.Resume(t, store, s.ID(), nil)
	sessiontest.Add(t, r, sessiontest.Prompt("thanks"))
	sessiontest.Close(t, r)

	want := []string{"user: what is here?", "assistant: I look.", "assistant: Read", "user: text a", "assistant: Bash",
		"user: " + long[:30], "assistant: Done.", "user: thanks"}
	var messages []sdkMessage
	ask(&messages, "messages", s.ID(), cwd)
	if diff := cmp.Diff(want, contents(messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	type info struct {
		SessionID   string `json:"sessionId"`
		Summary     string `json:"summary"`
		CustomTitle string `json:"customTitle"`
		FirstPrompt string `json:"firstPrompt"`
		GitBranch   string `json:"gitBranch"`
		Tag         string `json:"tag"`
	}
	wantInfo := info{s.ID(), "our title", "our title", "what is here?", "trunk", ""}
	var list []info
	ask(&list, "list", "", cwd)
	if diff := cmp.Diff([]info{wantInfo}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	var nothing any
	ask(&nothing, "rename", s.ID(), cwd, "their title")
	ask(&nothing, "tag", s.ID(), cwd, "important")
	var got info
	ask(&got, "info", s.ID(), cwd)
	wantInfo = info{s.ID(), "their title", "their title", "what is here?", "trunk", "important"}
	if diff := cmp.Diff(wantInfo, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	ours, err := store.List(&session.ListOptions{Cwd: cwd})
	if err != nil || len(ours) != 1 || ours[0].Title != "their title" || ours[0].Tag != "important" || ours[0].Prompt != "what is here?" {
		t.Errorf("our list %+v, %v", ours, err)
	}

	history := []string{"user: what is here?", "assistant: I look. | Read(a) | Bash(b)", "user: a→text a | b→" + long, "assistant: Done.", "user: thanks"}
	again := sessiontest.Resume(t, store, s.ID(), nil)
	sessiontest.WantHistory(t, again, history...)
	if again.Restored().Title != "their title" {
		t.Errorf("title %q", again.Restored().Title)
	}

	var fork struct {
		SessionID string `json:"sessionId"`
	}
	ask(&fork, "fork", s.ID(), cwd)
	forked := sessiontest.Resume(t, store, fork.SessionID, nil)
	sessiontest.WantHistory(t, forked, history...)
	sessiontest.Add(t, forked, sessiontest.Prompt("in the fork"))
	sessiontest.Close(t, forked)
	ask(&fork, "fork", s.ID(), cwd, messages[6].UUID)
	sessiontest.WantHistory(t, sessiontest.Resume(t, store, fork.SessionID, nil), history[:4]...)

	mine, err := store.Fork(t.Context(), s.ID(), messages[2].UUID)
	if err != nil {
		t.Fatal(err)
	}
	ask(&messages, "messages", mine, cwd)
	if diff := cmp.Diff(want[:3], contents(messages)); diff != "" {
		t.Errorf("messages of our fork (-want +got):\n%s", diff)
	}
}

func TestTheOfficialSDKReadsOurCompactions(t *testing.T) {
	config, cwd := t.TempDir(), t.TempDir()
	ask := sdk(t, config)
	store := session.Open(filepath.Join(config, "projects"))
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, s, sessiontest.Prompt("one"), sessiontest.Answer("m1", model.TextOf("two")))
	sessiontest.Add(t, s, session.Entry{Compaction: &session.Compaction{Trigger: "auto", PreTokens: 10, Messages: []model.Message{
		{Role: model.User, Content: []model.Block{model.TextOf("what happened")}}}}})
	sessiontest.Add(t, s, sessiontest.Answer("m2", model.TextOf("three")))
	sessiontest.Close(t, s)
	var messages []sdkMessage
	ask(&messages, "messages", s.ID(), cwd)
	got := contents(messages)
	if want := []string{"user: what happened", "assistant: three"}; cmp.Diff(want, got) != "" {
		t.Errorf("messages %v, want %v", got, want)
	}
	sessiontest.WantHistory(t, sessiontest.Resume(t, store, s.ID(), nil), "user: what happened", "assistant: three")
}

func TestTheOfficialSDKFindsSessionsOfLongPaths(t *testing.T) {
	config := t.TempDir()
	ask := sdk(t, config)
	cwd := filepath.Join(t.TempDir(), strings.Repeat("ein längerer Name/", 15))
	if err := os.MkdirAll(cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	s := sessiontest.Create(t, session.Open(filepath.Join(config, "projects")), &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, s, sessiontest.Prompt("hello"), sessiontest.Answer("m1", model.TextOf("hello")))
	sessiontest.Close(t, s)
	var list []struct {
		SessionID string `json:"sessionId"`
	}
	ask(&list, "list", "", cwd)
	if len(list) != 1 || list[0].SessionID != s.ID() {
		t.Errorf("list %v", list)
	}
}
