package headless

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/haftdev/haft/internal/test/changetest"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/wire"
)

// A host is a program at the other end of the wire: it gets requests as JSON.
type host struct {
	t     *testing.T
	asked []wire.CanUseTool
	reply func(n int) wire.PermissionAnswer
}

func (h *host) asker() sched.Asker {
	return &hostAsker{
		who: "the host", before: func(context.Context) {}, states: func(bool) {}, warn: func(s string) { h.t.Error(s) },
		call: func(_ context.Context, r wire.Request, reply any) error {
			raw, err := json.Marshal(r)
			if err != nil {
				return err
			}
			var got wire.CanUseTool
			if err := json.Unmarshal(raw, &got); err != nil {
				return err
			}
			h.asked = append(h.asked, got)
			*reply.(*wire.PermissionAnswer) = h.reply(len(h.asked))
			return nil
		},
	}
}

// TestTheWireShowsTheChange applies what a program is shown of random changes to the
// file as it was: that is the file as it becomes.
func TestTheWireShowsTheChange(t *testing.T) {
	p := changetest.NewProject(t)
	r := rand.New(rand.NewPCG(15, 3))
	made := 0
	for range 120 {
		c := p.New(t, r)
		h := &host{t: t, reply: func(int) wire.PermissionAnswer {
			return wire.PermissionAnswer{Behavior: wire.BehaviorAllow, UpdatedInput: c.Input}
		}}
		out := p.Call(t, c, h.asker())
		after, _ := os.ReadFile(c.Path)
		os.Remove(c.Path)
		if out.Status != sched.Succeeded {
			continue
		}
		made++
		change := h.asked[0].Change
		switch {
		case change == nil || change.Digest == "" || change.Digest != out.Verdict.Approved:
			t.Errorf("%s: shown %+v, approved %q", c, change, out.Verdict.Approved)
		case len(change.Files) == 0:
			if !bytes.Equal(c.Before, after) {
				t.Errorf("%s: shown as no change", c)
			}
		default:
			applied(t, c, change.Files[0], after)
		}
		if h.asked[0].BlockedPath != c.Path {
			t.Errorf("%s: about %q", c, h.asked[0].BlockedPath)
		}
	}
	if made < 60 {
		t.Errorf("only %d calls were made: the test sees too little", made)
	}
}

// applied makes the change that the program was shown, and compares.
func applied(t *testing.T, c changetest.Case, f wire.FileChange, after []byte) {
	t.Helper()
	var hunks []patch.Hunk
	for _, h := range f.Hunks {
		hunks = append(hunks, patch.Hunk(h))
	}
	before, want, err := changetest.Texts(c.Before, after)
	if err != nil {
		t.Fatal(err)
	}
	got, err := changetest.Apply(before, hunks)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: what is shown makes %q, the call made %q: %v", c, got, want, err)
	}
	sum := sha256.Sum256(after)
	if f.Path != c.Path || f.After.SHA256 != hex.EncodeToString(sum[:]) || f.After.Size != int64(len(after)) || (f.Before == nil) == c.Exists {
		t.Errorf("%s: shown %+v", c, f)
	}
}

// TestAProgramIsAskedAgainAboutAnotherChange changes the file while the program thinks.
func TestAProgramIsAskedAgainAboutAnotherChange(t *testing.T) {
	p := changetest.NewProject(t)
	path := p.Dir + "/f"
	c := changetest.Case{Path: path, Tool: "Bash", Input: json.RawMessage(`{"command":"sed -i s/one/1/g f"}`)}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	h := &host{t: t, reply: func(n int) wire.PermissionAnswer {
		if n == 1 {
			write("one one\n")
		}
		return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}
	}}
	out := p.Call(t, c, h.asker())
	if out.Status != sched.Succeeded || len(h.asked) != 2 || h.asked[0].Change.Digest == h.asked[1].Change.Digest {
		t.Fatalf("%s, asked %+v", out.Status, h.asked)
	}
	if lines := h.asked[1].Change.Files[0].Hunks[0].Lines; len(lines) != 2 || lines[1] != "+1 1" {
		t.Errorf("shown %q", lines)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "1 1\n" {
		t.Errorf("the file has %q", raw)
	}
}
