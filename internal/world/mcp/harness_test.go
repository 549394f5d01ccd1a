package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// harnessEnv makes the test binary a harness: it starts servers of the modes
// given there, prints the processes, and waits to be killed.
const harnessEnv = "MCP_TEST_HARNESS"

func harnessMain(reexec shellrun.Reexec) {
	shells := shellrun.NewHost(&shellrun.Options{Reexec: reexec, NoCgroup: true})
	h := mcp.NewHost(&mcp.Options{Runner: shells.Runner(), ProbeTimeout: time.Second})
	var servers []mcp.Server
	for i, mode := range strings.Split(os.Getenv(harnessEnv), "|") {
		s := badEntry(mode)
		s.Name = fmt.Sprint("bad", i)
		servers = append(servers, s)
	}
	h.Start(servers)
	if err := h.Wait(context.Background()); err != nil {
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(pids(h))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test
	os.Exit(0)
}

// pids are the processes of the servers and the grandchildren they tell of.
func pids(h *mcp.Host) []int {
	var all []int
	for _, s := range h.Status() {
		all = append(all, s.PID)
		for _, line := range s.Stderr {
			if pid, ok := strings.CutPrefix(line, "grandchild "); ok {
				n, _ := strconv.Atoi(pid)
				all = append(all, n)
			}
		}
	}
	return all
}
