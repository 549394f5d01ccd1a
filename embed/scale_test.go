//go:build unix

package embed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// scaleEnv asks the test program to hold conversations: how many, and how many at once.
const scaleEnv = "EMBED_SCALE"

// TestManyConversations holds conversations one after the other, and many at once, in a
// process that may open 512 files. With HAFT_SCALE=full there are 10,000 and 1,000.
func TestManyConversations(t *testing.T) {
	if how := os.Getenv(scaleEnv); how != "" {
		holdConversations(t, how)
		return
	}
	part := needtest.Every(3)
	files, after, afterEach, atOnce := 512/part, 600/part, 4, 100/part // more conversations than there may be open files
	if os.Getenv("HAFT_SCALE") == "full" {
		files, after, afterEach, atOnce = 512, 10_000, 1, 1_000
	}
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "Done."}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	for name, how := range map[string]string{"one after the other": fmt.Sprint(after, " ", afterEach), "at once": fmt.Sprint(atOnce, " ", atOnce)} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d`, files)+` && exec "$0" -test.run '^TestManyConversations$' -test.v`, os.Args[0])
			cmd.Env = append(os.Environ(), scaleEnv+"="+how, "ANTHROPIC_BASE_URL="+srv.URL(), "ANTHROPIC_API_KEY=none", "HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s", err, out)
			} else {
				t.Log(lastLine(string(out), "conversations:"))
			}
		})
	}
}

func lastLine(text, with string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, with) {
			return strings.TrimSpace(line)
		}
	}
	return text
}

func holdConversations(t *testing.T, how string) {
	words := strings.Fields(how)
	total, _ := strconv.Atoi(words[0])
	atOnce, _ := strconv.Atoi(words[1])
	dir := t.TempDir()
	transport := embed.New(nil)
	begin := time.Now()
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	for i := range total {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := converse(transport, dir); err != nil {
				mu.Lock()
				failures = append(failures, fmt.Errorf("conversation %d: %w", i, err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	files, _ := os.ReadDir("/proc/self/fd")
	t.Logf("%d conversations: %s, %d failures, %d files open, %d goroutines", total, time.Since(begin).Round(time.Millisecond), len(failures), len(files), runtime.NumGoroutine())
	if len(failures) > 0 {
		t.Fatal(errors.Join(failures[:min(5, len(failures))]...))
	}
	if len(files) > 200 || runtime.NumGoroutine() > 400 {
		t.Errorf("conversations that have ended leave something behind")
	}
}

func converse(transport haft.Transport, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	said := false
	for m, err := range haft.Query(ctx, "go", &haft.Options{Transport: transport, Dir: dir}) {
		if err != nil {
			return err
		}
		if r, ok := m.(*haft.Result); ok {
			said = !r.IsError
			if r.IsError {
				return errors.New(strings.Join(r.Errors, "; "))
			}
		}
	}
	if !said {
		return errors.New("there is no result")
	}
	return nil
}
