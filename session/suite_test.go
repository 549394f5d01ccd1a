package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func TestSessionsInFiles(t *testing.T) {
	sessiontest.Run(t, sessiontest.InFiles)
}

func TestSessionsInLogs(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Stage { return sessiontest.NewWithLogs(t, sessiontest.NewMemory()) })
	sessiontest.RunLogs(t, func(*testing.T) session.Logs { return sessiontest.NewMemory() })
}

func TestAContentThatIsGoneIsNamed(t *testing.T) {
	store := session.Open(t.TempDir())
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	sessiontest.Add(t, s, sessiontest.Prompt("go"), sessiontest.Answer("m1", sessiontest.Use("a", "Read", `{}`)))
	sessiontest.Record(t, s, "a", "Read", tool.Pure, sched.Finished, strings.Repeat("long ", 20_000))
	sessiontest.Close(t, s)
	if err := os.RemoveAll(filepath.Join(filepath.Dir(s.Path()), "haft-blobs")); err != nil {
		t.Fatal(err)
	}
	res, err := sessiontest.Resume(t, store, s.ID(), nil).Restored().History.Message(2)
	if err != nil {
		t.Fatal(err)
	}
	if got := tool.JoinText(res.Content[0].Content); !strings.Contains(got, "are kept as blob sha256:") {
		t.Errorf("without the blob: %.100s", got)
	}
}
