package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// TestManyProcessesInOneHome runs conversations of many processes at once, all with one home folder and one
// project: 20 in every test run, 400 with HAFT_NIGHTLY=1. Each writes a file and reads it. All must succeed, and
// each has its own whole journal, and its verdicts in the log that they share.
func TestManyProcessesInOneHome(t *testing.T) {
	n := 20
	if needtest.Nightly() {
		n = 400
	}
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStage(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = s.converse(ctx, built[0], i) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var journals, verdicts int
	err = filepath.WalkDir(s.home, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case strings.HasSuffix(path, ".new"), strings.HasSuffix(path, ".tmp"):
			return fmt.Errorf("%s was left behind", path)
		case filepath.Ext(path) != ".jsonl":
			return nil
		}
		lines, err := wholeLines(path)
		if strings.Contains(filepath.Base(path), "audit") {
			verdicts += lines
		} else {
			journals++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if journals != n || verdicts != 2*n {
		t.Errorf("%d journals and %d verdicts of %d conversations with two calls each", journals, verdicts, n)
	}
}

// converse lets a process write a file and read it.
func (s *stage) converse(ctx context.Context, p *player, i int) error {
	file, text := filepath.Join(s.dir, fmt.Sprintf("new%d.txt", i)), fmt.Sprintf("text of %d\n", i)
	call := func(name string, input map[string]string) script.Turn {
		raw, _ := json.Marshal(input) // strings encode
		return script.Turn{Blocks: []script.Block{{Tool: name, Input: raw}}}
	}
	scenario := &script.Scenario{Turns: []script.Turn{
		call("Write", map[string]string{"file_path": file, "content": text}),
		call("Read", map[string]string{"file_path": file}),
		{Blocks: []script.Block{{Text: "done"}}},
	}}
	model, err := script.Serve(&script.Options{Answer: scenario.Answer(), Keep: -1, Unchecked: true})
	if err != nil {
		return err
	}
	defer model.Close()
	cmd, err := s.command(ctx, p, model.URL())
	if err != nil {
		return err
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if err != nil || !bytes.Contains(out, []byte(`"subtype":"success"`)) || !bytes.Contains(out, []byte("text of "+fmt.Sprint(i))) {
		return fmt.Errorf("conversation %d: %w\n%s%s", i, err, tail(out), tail(complaints.Bytes()))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		return fmt.Errorf("conversation %d wrote %q: %w", i, got, err)
	}
	return nil
}

// wholeLines counts the lines of a file, all of which must be JSON.
func wholeLines(path string) (n int, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(raw) {
		if n++; !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
			return n, fmt.Errorf("%s: line %d is not whole: %s", path, n, line)
		}
	}
	return n, nil
}
