// Command mcp measures the MCP host: what a call costs over the bare SDK, how
// much a large result allocates, how fast servers start, end and come back; and
// haft as a server.
//
//	go run -C bench ./mcp              everything, about half a minute
//	go run -C bench ./mcp -only call   the measurements whose name has this in it
//
// Servers are this program, started again. Host and bare SDK take turns within
// each round, so that both meet the same noise.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	reexec := shellrun.Supervise()
	if mode := os.Getenv(serverEnv); mode != "" {
		os.Exit(serve(mode))
	}
	only := flag.String("only", "", "only measurements whose name contains this")
	rounds := flag.Int("rounds", 5, "times to repeat each")
	flag.Parse()
	shells := shellrun.NewHost(&shellrun.Options{Reexec: reexec})
	b := &bench{rounds: *rounds, runner: shells.Runner()}
	code := b.all(*only)
	if b.haft != "" {
		os.RemoveAll(filepath.Dir(b.haft))
	}
	if err := shells.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/mcp:", err)
	}
	os.Exit(code)
}

type measurement struct {
	name, bound string
	run         func(*bench) (string, error)
}

type bench struct {
	rounds int
	runner shellrun.Runner
	haft   string // the built command; "" if it is not
}

// all prints each measurement beside what it is held to.
func (b *bench) all(only string) int {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "measurement\tresult\theld to")
	code := 0
	for _, m := range slices.Concat(measurements, serving) {
		if !strings.Contains(m.name, only) {
			continue
		}
		result, err := m.run(b)
		if err != nil {
			result, code = "error: "+err.Error(), 1
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.name, result, m.bound)
		w.Flush()
	}
	return code
}

// entry is a server of this program.
func entry(name, mode string) mcp.Server {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return mcp.Server{Name: name, Command: exe, Env: map[string]string{serverEnv: mode}}
}

// host starts servers and waits for them.
func (b *bench) host(opts *mcp.Options, servers ...mcp.Server) (*mcp.Host, error) {
	o := mcp.Options{}
	if opts != nil {
		o = *opts
	}
	o.Runner = b.runner
	h := mcp.NewHost(&o)
	h.Start(servers)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return h, h.Wait(ctx)
}

func call(h *mcp.Host, name, input string) error {
	_, err := h.Call(context.Background(), "s", name, &tool.Call{Input: json.RawMessage(input)})
	return err
}

func (b *bench) deadline() (string, error) {
	s := entry("s", "silent")
	s.StartTimeout = mcp.Millis(time.Second)
	begin := time.Now()
	h, err := b.host(nil, s)
	took := time.Since(begin)
	h.Close()
	return round(took), err
}

func (b *bench) shutdown() (string, error) {
	var worst time.Duration
	for range b.rounds {
		var servers []mcp.Server
		for i, mode := range []string{"good", "good", "good", "good", "good", "good", "deaf", "deaf", "parent", "parent"} {
			servers = append(servers, entry(fmt.Sprint("s", i), mode))
		}
		h, err := b.host(nil, servers...)
		if err != nil {
			return "", err
		}
		begin := time.Now()
		h.Close()
		worst = max(worst, time.Since(begin))
	}
	return "worst of " + fmt.Sprint(b.rounds) + ": " + round(worst), nil
}

func (b *bench) crash() (string, error) {
	var times []time.Duration
	for range b.rounds {
		h, err := b.host(nil, entry("s", "good"))
		if err != nil {
			return "", err
		}
		begin := time.Now()
		if call(h, "crash", `{}`) == nil {
			return "", errors.New("the crash went unnoticed")
		}
		err = call(h, "echo", `{}`)
		times = append(times, time.Since(begin))
		h.Close()
		if err != nil {
			return "", err
		}
	}
	return "p50 " + round(median(times)), nil
}

func (b *bench) parallel() (string, error) {
	start := func(n int) (time.Duration, error) {
		var servers []mcp.Server
		for i := range n {
			mode := "slow=" + fmt.Sprint(time.Duration(50*(i%5))*time.Millisecond)
			if i == 0 {
				mode = "slow=500ms"
			}
			servers = append(servers, entry(fmt.Sprint("s", i), mode))
		}
		begin := time.Now()
		h, err := b.host(nil, servers...)
		took := time.Since(begin)
		h.Close()
		return took, err
	}
	var one, twenty []time.Duration
	for range b.rounds {
		a, err := start(1)
		if err != nil {
			return "", err
		}
		c, err := start(20)
		if err != nil {
			return "", err
		}
		one, twenty = append(one, a), append(twenty, c)
	}
	return fmt.Sprintf("%s, %s: %.2f×", round(median(twenty)), round(median(one)), float64(median(twenty))/float64(median(one))), nil
}

func (b *bench) prompt() (string, error) {
	h := mcp.NewHost(&mcp.Options{Runner: b.runner})
	defer h.Close()
	begin := time.Now()
	h.Start([]mcp.Server{entry("s", "slow=30s")})
	h.Tools()
	return time.Since(begin).Round(10 * time.Microsecond).String(), nil
}

func (b *bench) cached() (string, error) {
	dir, err := os.MkdirTemp("", "haft-bench")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	opts := &mcp.Options{CacheDir: dir}
	h, err := b.host(opts, entry("s", "many=50"))
	if err != nil {
		return "", err
	}
	want := len(h.Tools())
	h.Close()
	opts.Runner = b.runner
	h = mcp.NewHost(opts)
	defer h.Close()
	begin := time.Now()
	h.Start([]mcp.Server{entry("s", "many=50")})
	started := time.Since(begin)
	if got := len(h.Tools()); got != want {
		return "", fmt.Errorf("%d tools, want %d", got, want)
	}
	return fmt.Sprintf("started after %s, %d tools after %s", started.Round(10*time.Microsecond), want, time.Since(begin).Round(10*time.Microsecond)), nil
}

// bare connects with nothing but the SDK.
func bare() (*sdk.ClientSession, error) {
	s := entry("s", "good")
	cmd := exec.Command(s.Command)
	cmd.Env = append(os.Environ(), serverEnv+"=good")
	client := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	return client.Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, nil)
}

func (b *bench) overhead() (string, error) {
	h, err := b.host(nil, entry("s", "good"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	raw, err := bare()
	if err != nil {
		return "", err
	}
	defer raw.Close()
	var ours, theirs []time.Duration
	for range 400 * b.rounds {
		begin := time.Now()
		if err := call(h, "echo", `{}`); err != nil {
			return "", err
		}
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		if _, err := raw.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo"}); err != nil {
			return "", err
		}
		theirs = append(theirs, time.Since(begin))
	}
	o, t := median(ours), median(theirs)
	return fmt.Sprintf("%s against %s: %+d µs; %s", o.Round(time.Microsecond), t.Round(time.Microsecond), (o - t).Microseconds(), b.work(h, raw)), nil
}

// work is what calls cost this process, which other load on the machine does not
// change as it does times.
func (b *bench) work(h *mcp.Host, raw *sdk.ClientSession) string {
	per := func(f func() error) time.Duration {
		n := 400 * b.rounds
		before := cpuTime()
		for range n {
			_ = f() // measured before
		}
		return ((cpuTime() - before) / time.Duration(n)).Round(time.Microsecond)
	}
	ours := per(func() error { return call(h, "echo", `{}`) })
	theirs := per(func() error {
		_, err := raw.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo"})
		return err
	})
	return fmt.Sprintf("of processor time %s against %s", ours, theirs)
}

func (b *bench) throughput() (string, error) {
	h, err := b.host(nil, entry("s", "good"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	raw, err := bare()
	if err != nil {
		return "", err
	}
	defer raw.Close()
	ours := rate(func() error { return call(h, "echo", `{}`) })
	theirs := rate(func() error {
		_, err := raw.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo"})
		return err
	})
	return fmt.Sprintf("%d, the bare SDK %d", ours, theirs), nil
}

func rate(f func() error) int {
	const workers, each = 8, 500
	begin := time.Now()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				_ = f() // measured alone first
			}
		})
	}
	all.Wait()
	return int(workers * each / time.Since(begin).Seconds())
}

func (b *bench) large() (string, error) {
	h, err := b.host(nil, entry("s", "good"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err = call(h, "big", `{"bytes":10000000}`)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	total := after.TotalAlloc - before.TotalAlloc
	return fmt.Sprintf("%d MB: %.1f×, in %s", total/1e6, float64(total)/1e7, round(took)), err
}

func (b *bench) huge() (string, error) {
	h, err := b.host(nil, entry("s", "good"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	big := call(h, "big", `{"bytes":100000000}`)
	if big == nil {
		return "", errors.New("it was taken")
	}
	if err := call(h, "echo", `{}`); err != nil {
		return "", err
	}
	if n := h.Status()[0].Restarts; n > 0 {
		return "", fmt.Errorf("%d restarts", n)
	}
	return big.Error(), nil
}

func (b *bench) stable() (string, error) {
	var first []byte
	for range 100 {
		var servers []mcp.Server
		for i := range 3 {
			servers = append(servers, entry(fmt.Sprint("s", i), fmt.Sprintf("slow=%dms", rand.IntN(20))))
		}
		rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		for i := range servers { // the latency is not part of the name
			servers[i].Args = nil
		}
		h, err := b.host(nil, servers...)
		if err != nil {
			return "", err
		}
		request := tool.NewSet(nil, nil, h.Tools(), nil).Request()
		h.Close()
		if first == nil {
			first = bytes.Clone(request)
		}
		if !bytes.Equal(first, request) {
			return "", errors.New("the block changed")
		}
	}
	return fmt.Sprintf("identical, %d bytes", len(first)), nil
}

func (b *bench) deferral() (string, error) {
	h, err := b.host(nil, entry("s", "many=500"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	set := tool.NewSet(nil, []tool.Tool{toolsearch.New()}, h.Tools(), nil)
	names := 0
	for _, t := range set.Deferred() {
		names += len(t.Name) + 1
	}
	const bytesPerToken = 3.5
	share := float64(len(set.Request())+names) / bytesPerToken / 200_000
	return fmt.Sprintf("%d deferred, %.1f %%", len(set.Deferred()), 100*share), nil
}

func (b *bench) cancel() (string, error) {
	h, err := b.host(nil, entry("s", "good"))
	if err != nil {
		return "", err
	}
	defer h.Close()
	var worst time.Duration
	for range 20 * b.rounds {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			_, _ = h.Call(ctx, "s", "wait", new(tool.Call)) // it has no other end
			close(ended)
		}()
		time.Sleep(5 * time.Millisecond)
		begin := time.Now()
		cancel()
		<-ended
		worst = max(worst, time.Since(begin))
	}
	if err := call(h, "echo", `{}`); err != nil {
		return "", err
	}
	return fmt.Sprintf("worst of %d: %s", 20*b.rounds, worst.Round(10*time.Microsecond)), nil
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

func round(d time.Duration) string {
	return strings.Replace(d.Round(time.Millisecond).String(), "ms", " ms", 1)
}

// serverEnv makes this program a server.
const serverEnv = "HAFT_BENCH_MCP"

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
