package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving are the measurements of haft as a server, which is built for them.
var serving = []measurement{
	{"server: start to tools/list, p50", "< 30 ms", (*bench).serveStart},
	{"server: call over stdio, p50", "", (*bench).serveCall},
	{"server: cancel to the last process gone", "< 1 s", (*bench).serveCancel},
	{"server: size of tools/list, the core set", "< 15 KiB", (*bench).serveSize},
	{"haft mcp list with a server that hangs", "≤ 6 s", (*bench).listBound},
}

// A served is "haft mcp serve" in an empty folder with a client of it.
type served struct {
	*sdk.ClientSession
	dir string
	end func()
}

// buildHaft builds the command once.
func (b *bench) buildHaft() (string, error) {
	if b.haft != "" {
		return b.haft, nil
	}
	dir, err := os.MkdirTemp("", "haft-bench-")
	if err != nil {
		return "", err
	}
	b.haft = filepath.Join(dir, "haft")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", b.haft, "./cmd/haft").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build haft (run this in the folder bench): %w: %s", err, out)
	}
	return b.haft, nil
}

func (b *bench) serve() (*served, error) {
	haft, err := b.buildHaft()
	if err != nil {
		return nil, err
	}
	base, err := os.MkdirTemp("", "haft-bench-")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(base, "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(haft, "mcp", "serve")
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Join(base, "home"), "PATH=" + os.Getenv("PATH")}
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	})
	session, err := client.Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		os.RemoveAll(base)
		return nil, err
	}
	return &served{session, dir, func() { session.Close(); os.RemoveAll(base) }}, nil
}

func (b *bench) serveStart() (string, error) {
	if _, err := b.buildHaft(); err != nil {
		return "", err
	}
	var times []time.Duration
	for range 4 * b.rounds {
		begin := time.Now()
		s, err := b.serve()
		if err != nil {
			return "", err
		}
		_, err = s.ListTools(context.Background(), nil)
		times = append(times, time.Since(begin))
		s.end()
		if err != nil {
			return "", err
		}
	}
	slices.Sort(times)
	return fmt.Sprintf("%s (least %s)", round(times[len(times)/2]), round(times[0])), nil
}

func (b *bench) serveCall() (string, error) {
	s, err := b.serve()
	if err != nil {
		return "", err
	}
	defer s.end()
	var times []time.Duration
	for range 100 * b.rounds {
		begin := time.Now()
		if _, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "Sleep", Arguments: map[string]any{"duration_ms": 0}}); err != nil {
			return "", err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond).String(), nil
}

// serveCancel cancels a command with children, and waits for the last of them.
func (b *bench) serveCancel() (string, error) {
	s, err := b.serve()
	if err != nil {
		return "", err
	}
	defer s.end()
	var worst time.Duration
	for range b.rounds {
		took, err := s.cancelTree()
		if err != nil {
			return "", err
		}
		worst = max(worst, took)
	}
	return round(worst) + " at worst", nil
}

func (s *served) cancelTree() (time.Duration, error) {
	ids := filepath.Join(s.dir, "ids")
	os.Remove(ids)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{
			"command": `sleep 1000 & echo $! > ids.tmp; (sleep 1001 & echo $! >> ids.tmp; wait) & sleep 0.1; mv ids.tmp ids; wait`,
		}})
		ended <- err
	}()
	var pids []int
	for deadline := time.Now().Add(20 * time.Second); pids == nil; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(ids); err == nil {
			for word := range strings.FieldsSeq(string(text)) {
				var pid int
				if _, err := fmt.Sscan(word, &pid); err != nil {
					return 0, err
				}
				pids = append(pids, pid)
			}
		}
		if time.Now().After(deadline) {
			return 0, errors.New("the command did not start")
		}
	}
	begin := time.Now()
	cancel()
	for slices.ContainsFunc(pids, alive) {
		if time.Since(begin) > 20*time.Second {
			return 0, errors.New("it goes on")
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin)
	<-ended
	return took, nil
}

// listBound lists a server that works and one that never answers.
func (b *bench) listBound() (string, error) {
	haft, err := b.buildHaft()
	if err != nil {
		return "", err
	}
	base, err := os.MkdirTemp("", "haft-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(haft, append([]string{"mcp"}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Join(base, "home"), "PATH=" + os.Getenv("PATH")}
		return cmd.CombinedOutput()
	}
	for _, args := range [][]string{{"add", "good", "--", haft, "mcp", "serve"}, {"add", "hangs", "--", "sleep", "1000"}} {
		if out, err := run(args...); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	begin := time.Now()
	out, err := run("list")
	if err != nil || !strings.Contains(string(out), "connected") {
		return "", fmt.Errorf("%v: %s", err, out)
	}
	return round(time.Since(begin)), nil
}

// alive reports whether there is such a process, as Linux tells.
func alive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

func (b *bench) serveSize() (string, error) {
	s, err := b.serve()
	if err != nil {
		return "", err
	}
	defer s.end()
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	core := 0
	for _, t := range list.Tools {
		if one, err := json.Marshal(t); err == nil && slices.Contains(coreTools, t.Name) {
			core += len(one) + 1
		}
	}
	return fmt.Sprintf("%d bytes; all %d tools %d bytes", core, len(list.Tools), len(raw)), nil
}

// coreTools are what a coding agent cannot do without.
var coreTools = []string{"Read", "Write", "Edit", "Bash", "Grep", "Glob"}
