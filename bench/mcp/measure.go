package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/toolsearch"
)

var measurements = []measurement{
	{"connect deadline of 1 s", "≤ 1.5 s", (*bench).deadline},
	{"shutdown of 10 servers, 2 deaf, 2 with grandchildren", "< 1.5 s", (*bench).shutdown},
	{"crash to next answer", "", (*bench).crash},
	{"20 servers side by side, the slowest alone", "≤ 1.3×", (*bench).parallel},
	{"start returns with a server of 30 s", "0", (*bench).prompt},
	{"tools of a cached server", "0 ms", (*bench).cached},
	{"call over the bare SDK, p50", "≤ 50 µs more", (*bench).overhead},
	{"calls per second, 8 at once", "", (*bench).throughput},
	{"result of 10 MB, allocated", "≤ 4×", (*bench).large},
	{"result of 100 MB", "that call fails, the session lives", (*bench).huge},
	{"tool block over 100 restarts", "byte-identical", (*bench).stable},
	{"500 deferred tools, share of 200k tokens", "≤ 2 %", (*bench).deferral},
	{"cancel to return", "< 100 ms", (*bench).cancel},
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
