//go:build linux

package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// TestABitFlipQuarantines damages the disk under a run, in its beginning and at its end, with
// and without the index that servers keep. It is put aside with a reason, and never continued
// as a shorter conversation.
func TestABitFlipQuarantines(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	for _, index := range []string{"kept", "lost"} {
		for name, text := range map[string]string{"the first prompt": "TURN 0", "the last answer": `"done"`} {
			t.Run(name+", index "+index, func(t *testing.T) {
				id, prompts := f.submit(1)
				other, otherPrompts := f.submit(1)
				f.mustEnd(t, id, prompts)
				f.mustEnd(t, other, otherPrompts)
				kill(f.servers[0].cmd)
				flipBit(t, filepath.Join(f.dir, "store"), id, text)
				if index == "lost" {
					removeIndexes(t, filepath.Join(f.dir, "store"))
				}
				f.servers[0].start()
				for _, run := range []string{id, other} {
					if _, _, err := f.runs.Submit(t.Context(), &runs.Submission{ID: run, Prompt: runs.Prompt{Text: "TURN 1"}}); err != nil {
						t.Fatal(err)
					}
				}
				waitFor(t, "the damaged run to be put aside", func() bool {
					run, err := f.runs.Get(t.Context(), id)
					return err == nil && run.State == runs.Quarantined && strings.Contains(run.Reason, "damaged")
				})
				// A server may lose what is in the same block; that is found, too.
				waitFor(t, "the other run to end", func() bool {
					run, err := f.runs.Get(t.Context(), other)
					return err == nil && (run.State == runs.Idle || run.State == runs.Quarantined && strings.Contains(run.Reason, "damaged"))
				})
			})
		}
	}
}

func (f *fleet) mustEnd(t *testing.T, id string, prompts []string) {
	t.Helper()
	for _, p := range prompts {
		if out, err := f.runs.Await(t.Context(), id, p); err != nil || out.IsError {
			t.Fatalf("run %s: %+v, %v", id, out, err)
		}
	}
	waitFor(t, "the run to rest", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Idle
	})
}

// flipBit changes one bit of a text in the last message of a session's journal that has it.
func flipBit(t *testing.T, store, id, text string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", "J?", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		raw, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		for at := bytes.LastIndex(raw, []byte(text)); at >= 0; at = bytes.LastIndex(raw[:at], []byte(text)) {
			// The subject of the message stands before its text.
			if subject := bytes.LastIndex(raw[:at], []byte("j.")); subject < 0 || !bytes.Contains(raw[subject:min(subject+80, at)], []byte(id)) {
				continue
			}
			raw[at] ^= 1
			if err := os.WriteFile(block, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("session %s has no %q in %q", id, text, blocks)
}

func removeIndexes(t *testing.T, store string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", "J?", "msgs", "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}
