package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/model/script"
)

// figures are what one run took.
type figures struct {
	first, turn, total time.Duration
	cpu                time.Duration // of the process and its children
	rss, anon          int64         // bytes: the most of all, and what is not of files at the last request
	start              startFigures
}

// startFigures are what the kernel has counted of a process when its first request comes. They are much the same on a
// busy machine.
type startFigures struct {
	anon     int64 // bytes that are not of files
	faults   int64 // pages that it asked for first
	children int64 // pages that its children did, those that have ended
}

// A stage is a project with files to read, and an empty home.
type stage struct{ dir, home string }

const files = 50

// moveIn makes the stage's home folder that of this process.
func (s *stage) moveIn() error {
	for name, value := range map[string]string{"HOME": s.home, "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "CLAUDE_CONFIG_DIR": ""} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

func newStage(n int) (*stage, error) {
	tmp, err := os.MkdirTemp("", "haft-turns-stage-")
	if err != nil {
		return nil, err
	}
	s := &stage{filepath.Join(tmp, "project"), filepath.Join(tmp, "home")}
	for i := range n {
		if err := writeFile(s.file(i), fmt.Sprintf("package main\n\nfunc f%d() int { return %d }\n", i, i)); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(s.home, 0o755); err != nil {
		return nil, err
	}
	return s, exec.Command("git", "init", "-q", s.dir).Run()
}

func (s *stage) file(i int) string { return filepath.Join(s.dir, fmt.Sprintf("f%d.go", i)) }

func (s *stage) close() { os.RemoveAll(filepath.Dir(s.dir)) }

// scenario is turns with one call each, of a tool that a player has.
func (s *stage) scenario(p *player, work string, turns, n int) *script.Scenario {
	var list []script.Turn
	if work == "crowd" { // one turn with n calls
		var all script.Turn
		for i := range n {
			raw, _ := json.Marshal(map[string]string{p.read[1]: s.file(i)})
			all.Blocks = append(all.Blocks, script.Block{Tool: p.read[0], Input: raw})
		}
		return &script.Scenario{Turns: []script.Turn{all, {Blocks: []script.Block{{Text: "done"}}}}}
	}
	for i := range turns {
		if work == "mcp" {
			list = append(list, script.Turn{Blocks: []script.Block{{Tool: bigTool, Input: json.RawMessage("{}")}}})
			continue
		}
		tool, value := p.read, s.file(i%n)
		if work == "bash" {
			tool, value = p.bash, "cat "+s.file(i%n)
		}
		input := map[string]string{tool[1]: value}
		if work == "bash" && tool[0] != "exec_command" {
			input["description"] = "Show a file"
		}
		raw, _ := json.Marshal(input) // strings encode
		list = append(list, script.Turn{Blocks: []script.Block{{Tool: tool[0], Input: raw}}})
	}
	return &script.Scenario{Turns: append(list, script.Turn{Blocks: []script.Block{{Text: "done"}}})}
}

// play runs a player through turns, and fails if it does not play them all.
func play(ctx context.Context, p *player, work string, turns, n int) (figures, []arrival, error) {
	s, err := newStage(n)
	if err != nil {
		return figures{}, nil, err
	}
	defer s.close()
	var pid atomic.Int64
	var rss, anon int64
	var begun startFigures
	model, err := watch(s.scenario(p, work, turns, n), func(turn int) {
		if turn == 0 {
			begun = startOf(pid.Load())
		}
		if turn == turns {
			rss, anon = memoryOf(pid.Load(), "VmHWM:"), memoryOf(pid.Load(), "RssAnon:")
		}
	})
	if err != nil {
		return figures{}, nil, err
	}
	defer model.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd, err := s.command(ctx, p, model.URL())
	if err != nil {
		return figures{}, nil, err
	}
	if work == "mcp" {
		config, err := bigConfig()
		if err != nil {
			return figures{}, nil, err
		}
		cmd.Args = append(cmd.Args, "--mcp-config", config)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return figures{}, nil, err
	}
	pid.Store(int64(cmd.Process.Pid))
	err = cmd.Wait()
	total := time.Since(start)
	got := model.arrivals()
	if err != nil || len(got) != turns+1 {
		return figures{}, nil, fmt.Errorf("%s played %d of %d turns: %v\n%s", p.name, max(len(got)-1, 0), turns, err, tail(out.Bytes()))
	}
	var gaps []time.Duration
	for _, g := range got[1:] {
		gaps = append(gaps, g.at.Sub(g.answered))
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return figures{got[0].at.Sub(start), median(gaps), total, cpu, rss, anon, begun}, got, nil
}

func watch(s *script.Scenario, seen func(turn int)) (*stopwatch, error) {
	w := &stopwatch{scenario: s.Answer(), seen: seen}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.Server, err = script.Serve(&script.Options{Listener: watched{l, w}, Answer: w.answer, Keep: -1, Unchecked: true})
	return w, err
}

func (s *stage) command(ctx context.Context, p *player, url string) (*exec.Cmd, error) {
	if p.prepare != nil {
		if err := p.prepare(s.home, url); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir = s.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none",
	}, p.env...)
	return cmd, nil
}

// playLong plays the conversation that is resumed.
func (s *stage) playLong(ctx context.Context, p *player, turns int) error {
	model, err := watch(s.scenario(p, "read", turns, files), func(int) {})
	if err != nil {
		return err
	}
	defer model.Close()
	cmd, err := s.command(ctx, p, model.URL())
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil || len(model.arrivals()) != turns+1 {
		return fmt.Errorf("%s played %d of %d turns: %v\n%s", p.name, max(len(model.arrivals())-1, 0), turns, err, tail(out))
	}
	return nil
}

// goOn continues the conversation by one answer. The model must be asked with all
// answers that there were: a player that forgets or compacts is not compared.
func (s *stage) goOn(ctx context.Context, p *player, answers int) (figures, error) {
	var f figures
	var cmd *exec.Cmd
	var mu sync.Mutex
	var start time.Time
	seen := -1
	model, err := script.Serve(&script.Options{Keep: -1, Unchecked: true, Answer: func(r *script.Request) script.Turn {
		mu.Lock()
		defer mu.Unlock()
		if r.Tools > 0 && seen < 0 {
			seen, f.first, f.rss = r.Turn, r.At.Sub(start), memoryOf(int64(cmd.Process.Pid), "VmHWM:")
		}
		return script.Turn{Blocks: []script.Block{{Text: "done again"}}}
	}})
	if err != nil {
		return f, err
	}
	defer model.Close()
	if cmd, err = s.command(ctx, p, model.URL()); err != nil {
		return f, err
	}
	cmd.Args = append(cmd.Args, "--continue")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	mu.Lock()
	start = time.Now()
	err = cmd.Start()
	mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil || seen != answers {
		return f, fmt.Errorf("%s continued after %d answers, want %d: %v\n%s", p.name, seen, answers, err, tail(out.Bytes()))
	}
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return f, nil
}

// memoryOf is what the kernel says of a process's memory. It is asked for at the
// last request: what wait tells of a process includes its time before exec, as a
// copy of this one.
func memoryOf(pid int64, field string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // there is no /proc
	}
	_, rest, _ := strings.Cut(string(raw), field)
	var kb int64
	_, _ = fmt.Sscan(rest, &kb) // 0 if it is not told
	return kb << 10
}

func startOf(pid int64) startFigures {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return startFigures{} // there is no /proc
	}
	f := startFigures{anon: memoryOf(pid, "RssAnon:")}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name of the program is in parentheses
	var skip string
	_, _ = fmt.Sscan(rest, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &f.faults, &f.children) // 0 if it is not told
	return f
}

func tail(out []byte) string {
	const most = 2000
	return strings.TrimSpace(string(out[max(0, len(out)-most):]))
}
