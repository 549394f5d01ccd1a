package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// noticed returns the texts of what a user is told.
func noticed(events []agent.Event) (all string) {
	for _, ev := range events {
		if n, ok := ev.(agent.Notice); ok {
			all += n.Text + "\n"
		}
	}
	return all
}

func TestAConversationMendsWhatAnInterruptedWriteLeft(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	temp := filepath.Join(r.dir, ".haft-tmp-1")
	journal := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "haft", "writes")
	if err := os.MkdirAll(journal, 0o700); err != nil {
		t.Fatal(err)
	}
	record := fmt.Sprintf(`{"Kind":"replace","Dir":%q,"Name":"a.txt","Temp":%q}`, r.dir, filepath.Base(temp))
	for path, text := range map[string]string{temp: "half", filepath.Join(journal, "1.write"): record} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, err := os.Lstat(temp); !os.IsNotExist(err) {
		t.Errorf("the temporary file of a dead process is still there: %v", err)
	}
	events, _ := r.say(c, "hi")
	if told := noticed(events); !strings.Contains(told, filepath.Join(r.dir, "a.txt")+": removed the temporary file of an interrupted write") {
		t.Errorf("the person was told %q", told)
	}
}

func TestWhoHasWrittenNothingLooksForNoInterruptedWrites(t *testing.T) {
	r := newRig(t)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, err := os.Lstat(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "haft", "writes")); !os.IsNotExist(err) {
		t.Errorf("the start made the journal of writes: %v", err)
	}
}
