package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// alive reports whether there is such a process, as Linux tells.
func alive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}
