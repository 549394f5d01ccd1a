//go:build unix

package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
)

// viewersEnv has the address, the session and the number of viewers of a process that watches.
const viewersEnv = "SERVE_TEST_VIEWERS"

// watchAll watches a session with many connections, as pages do, until its input ends; then it says
// how many bytes came. It says when all are connected.
func watchAll(what string) {
	var address, id string
	var n int
	if _, err := fmt.Sscan(what, &address, &id, &n); err != nil {
		panic(err)
	}
	var bytes atomic.Int64
	var all sync.WaitGroup
	var conns []net.Conn
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /v1/sessions/%s/events?pieces HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", id, address, token)
		in := bufio.NewReader(conn)
		for line := ""; !strings.HasPrefix(line, "event: session"); {
			if line, err = in.ReadString('\n'); err != nil {
				panic(err)
			}
		}
		all.Go(func() {
			n, _ := io.Copy(io.Discard, in) // until it is closed
			bytes.Add(n)
		})
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		c.Close()
	}
	all.Wait()
	fmt.Println(bytes.Load())
}

// An answer that arrives is prepared once for all who watch: each viewer costs few bytes, and a
// hundred of them not much more than none. The viewers are another process, whose work is not counted.
func TestManyViewersCostLittle(t *testing.T) {
	const deltas, size = 600, 6
	var turns []script.Turn
	for range 10 {
		turns = append(turns, script.Turn{Blocks: []script.Block{{Text: strings.Repeat("words ", deltas*size/6)}}, Chunk: size, Delta: 4})
	}
	s := newSite(t, turns...)
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir}, &row)
	list := s.feed("/v1/events", "")
	defer list.Close()
	turn := 0
	measure := func(viewers int) (cpu time.Duration, each float64) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", viewersEnv, strings.TrimPrefix(s.url, "http://"), row.ID, viewers))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(raw)
		if line, err := out.ReadString('\n'); line != "connected\n" {
			t.Fatalf("%q: %v", line, err)
		}
		runtime.GC()
		before := processTime(t)
		turn++
		s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "go on"}, nil)
		list.Until("the end of the turn", func(e servetest.Event) bool {
			return e.Name == "sessions" && strings.Contains(e.Data, fmt.Sprintf(`"turns":%d`, turn)) && strings.Contains(e.Data, `"state":"done"`)
		})
		cpu = processTime(t) - before
		in.Close()
		var total int
		if _, err := fmt.Fscan(out, &total); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		return cpu, float64(total) / float64(max(1, viewers)*deltas)
	}
	measure(1) // what is made once is made before
	alone, _ := measure(0)
	for _, viewers := range []int{1, 10, 100} {
		cpu, each := measure(viewers)
		ratio := float64(cpu) / float64(alone)
		t.Logf("%d viewers: %.0f bytes for each piece and viewer; processor time %v, %.1f times that without viewers", viewers, each, cpu, ratio)
		if each > 120 {
			t.Errorf("%d viewers get %.0f bytes for a piece of %d characters", viewers, each, size)
		}
		if ratio > 8 {
			t.Errorf("%d viewers cost %.1f times as much as none", viewers, ratio)
		}
	}
}

// processTime is the processor time of this process.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
