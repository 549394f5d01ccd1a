//go:build linux

package read

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/tool"
)

const childEnv = "HAFT_READ_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

// child reads 2000 lines near the end of a file and prints by how much the process grew at its peak, in KB.
func child(path string) int {
	ws, err := workspace.Open(filepath.Dir(path), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	read := New(ws, nil)
	in, _ := json.Marshal(Input{FilePath: path, Offset: 1_900_000, Limit: 2000, AllowLarge: true})
	before := peak()
	start := time.Now()
	r, err := read.Run(context.Background(), &tool.Call{Tool: "Read", Input: in})
	if err != nil || !strings.Contains(r.Text(), "1901999\tline 1901998 ") {
		fmt.Fprintln(os.Stderr, "wrong lines", err)
		return 1
	}
	fmt.Println(peak()-before, time.Since(start).Milliseconds())
	return 0
}

// peak returns the largest resident size so far, in KB.
func peak() int {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.SplitSeq(string(status), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// TestAnOffsetInAHundredMegabytesStaysSmall: the file passes through, it does not stay.
func TestAnOffsetInAHundredMegabytesStaysSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	path := filepath.Join(t.TempDir(), "big")
	f, err := os.Create(path)
	must(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	line := bytes.Repeat([]byte("x"), 42)
	for i := range 2_000_000 {
		fmt.Fprintf(w, "line %d %s\n", i, line)
	}
	must(t, w.Flush())
	info, err := f.Stat()
	must(t, err)
	must(t, f.Close())
	if info.Size() < 100<<20 {
		t.Fatalf("the file has %d bytes only", info.Size())
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.Output()
	must(t, err)
	var grown, millis int
	_, err = fmt.Sscan(string(out), &grown, &millis)
	must(t, err)
	t.Logf("%d MB file: peak memory grew by %d KB, %d ms", info.Size()>>20, grown, millis)
	if grown > 16<<10 {
		t.Errorf("the process grew by %d KB", grown)
	}
}
