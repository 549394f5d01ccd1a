package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// The process is killed at random moments and the session resumed until the turn
// is done: no command that had ended ran twice, and none is lost.
//
// HAFT_TORTURE sets how many processes are killed; 200 takes some minutes.
func TestKilledAtRandomMoments(t *testing.T) {
	kills := 8
	if n, err := strconv.Atoi(os.Getenv("HAFT_TORTURE")); err == nil {
		kills = n
	}
	for round := 0; kills > 0; round++ {
		t.Run(fmt.Sprintf("session %d", round), func(t *testing.T) { kills -= torture(t, kills) })
		if t.Failed() {
			return
		}
	}
}

const effects = 12

// torture lets a session of commands finish, killing at most so many processes on
// the way, and returns how many it killed.
func torture(t *testing.T, most int) (killed int) {
	s, server := newStage(t), scriptedBy(t, appending)
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", rand.Int64N(1e12))
	args := []string{"-p", "append all", "--session-id", id}
	for {
		cmd := s.haft(server.URL(), append(args, "--output-format", "json", "--dangerously-skip-permissions")...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		moment := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
		if killed >= most {
			moment = time.Minute
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", killed, err, out.String())
			}
			s.checkEffects()
			return killed
		case <-time.After(moment):
			_ = cmd.Process.Kill() // it may have ended just now
			<-ended
			killed++
		}
		if s.begun(id) {
			args = []string{"-p", "go on", "--resume", id}
		}
	}
}

// A command that clings to life acts until the last moment. Whoever resumes the
// session of a haft that was killed asks the model only when that moment is over.
func TestAResumeLooksWhenTheCommandsAreGone(t *testing.T) {
	s := newStage(t)
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", rand.Int64N(1e12))
	effects := filepath.Join(s.dir, "effects.txt")
	size := func() int64 {
		info, err := os.Stat(effects)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	var seen atomic.Int64
	server := scriptedBy(t, func(r *script.Request) script.Turn {
		if r.Turn == 0 {
			return bash("acting", "trap '' TERM; while :; do echo acted >> effects.txt; done")
		}
		seen.Store(size())
		return script.Turn{Blocks: []script.Block{{Text: "I have looked."}}}
	})
	cmd := s.haft(server.URL(), "-p", "act", "--session-id", id, "--dangerously-skip-permissions")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); size() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command does not act")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out, err := s.haft(server.URL(), "-p", "look", "--resume", id).Output(); err != nil || strings.TrimSpace(string(out)) != "I have looked." {
		t.Fatalf("%v: %s", err, out)
	}
	if now, seen := size(), seen.Load(); seen == 0 || now != seen {
		t.Errorf("the command wrote %d bytes after the look, at which there were %d", now-seen, seen)
	}
}

// appending is a careful model that appends each token to a file by a command. What
// the conversation says was done is done; what it says did not run is tried again;
// where it does not know, it looks.
func appending(r *script.Request) script.Turn {
	known := outcomes(r)
	for i := range effects {
		token := fmt.Sprintf("token-%d", i)
		switch said := known[token]; {
		case strings.Contains(said, "appended"), strings.Contains(said, "present"):
		case strings.Contains(said, "unknown"):
			return bash(token, fmt.Sprintf("grep -qx %s effects.txt && echo present || echo absent", token))
		default:
			return bash(token, fmt.Sprintf("echo %s >> effects.txt; echo appended", token))
		}
	}
	return script.Turn{Blocks: []script.Block{{Text: "All appended."}}}
}

// bash calls the tool about a token, which its description names.
func bash(token, command string) script.Turn {
	raw, _ := json.Marshal(map[string]string{"command": command, "description": token}) // strings encode
	return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: raw, ID: fmt.Sprintf("toolu_%x", rand.Uint64())}}}
}

// outcomes are what a conversation last says of each token. A look that brought no
// answer leaves what was said before.
func outcomes(r *script.Request) map[string]string {
	var body struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(r.Body, &body) // it was read as JSON before
	type call struct{ token, command string }
	calls, known := map[string]call{}, map[string]string{}
	for _, m := range body.Messages {
		var blocks []struct {
			Type  string `json:"type"`
			ID    string `json:"id"`
			UseID string `json:"tool_use_id"`
			Input struct {
				Description string `json:"description"`
				Command     string `json:"command"`
			} `json:"input"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a plain text
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls[b.ID] = call{b.Input.Description, b.Input.Command}
			case "tool_result":
				said, c := string(b.Content), calls[b.UseID]
				if looked := strings.HasPrefix(c.command, "grep"); !looked || strings.Contains(said, "present") || strings.Contains(said, "absent") {
					known[c.token] = said
				}
			}
		}
	}
	return known
}

// checkEffects finds every token in the file, once.
func (s *stage) checkEffects() {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "effects.txt"))
	if err != nil {
		s.t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		times[strings.TrimSpace(line)]++
	}
	for i := range effects {
		if token := fmt.Sprintf("token-%d", i); times[token] != 1 {
			s.t.Errorf("%s was appended %d times", token, times[token])
		}
	}
}

// begun reports whether the session is on the disk.
func (s *stage) begun(id string) bool {
	found, _ := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", id+".jsonl"))
	return len(found) == 1
}
