// Command turns measures the agent loop: it plays the same scripted turns through
// haft, through the floor (the least code that can play them) and, with -peers,
// through other agents as people install them, one after the other in each round
// so that all meet the same noise. Only ratios within one run carry over.
//
//	go run -C bench ./turns                      haft and the floor
//	go run -C bench ./turns -peers -work bash    beside Claude Code, codex and opencode
//	go run -C bench ./turns -grow                what a turn costs late in a conversation
//	go run -C bench ./turns -peers -resume       how fast a long conversation continues
//	go run -C bench ./turns -density             a thousand conversations in one process
//	go run -C bench ./turns -cpu -also old=PATH  processor time beside the floor's and that of another build
//	go run -C bench ./turns -profile FILE        a CPU profile of turns, for -pgo
//
// Peers are installed with npm, pinned, below the user's cache folder.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
)

type options struct {
	turns, reps, sessions int
	work                  string
	peers, grow, density  bool
	resume                bool
	cpu                   bool
	only, profile, also   string
	ours                  []*player // nil builds them
	out, log              io.Writer
	reexec                shellrun.Reexec
}

func main() {
	reexec := shellrun.Supervise()
	if os.Getenv(modelEnv) != "" {
		os.Exit(serveModel())
	}
	if os.Getenv(bigEnv) != "" {
		os.Exit(serveBig())
	}
	o := options{out: os.Stdout, log: os.Stderr, reexec: reexec}
	flag.IntVar(&o.turns, "turns", 0, "how many turns with a call (40, 1000 with -grow, 200 with -resume)")
	flag.IntVar(&o.reps, "reps", 5, "how often each plays")
	flag.IntVar(&o.sessions, "sessions", 1000, "with -density: how many conversations")
	flag.StringVar(&o.work, "work", "read", "what each turn does: read, bash, mcp for a result of 10 MiB of an MCP server, or crowd for all calls in one answer")
	flag.BoolVar(&o.peers, "peers", false, "play through the agents of others, too")
	flag.StringVar(&o.only, "only", "", "of all, only these, separated by commas")
	flag.BoolVar(&o.grow, "grow", false, "compare early turns with late ones")
	flag.BoolVar(&o.resume, "resume", false, "continue a long conversation")
	flag.BoolVar(&o.density, "density", false, "hold many conversations in one process")
	flag.BoolVar(&o.cpu, "cpu", false, "compare processor times, which a busy machine disturbs less")
	flag.StringVar(&o.also, "also", "", "other builds of haft, as name=path, separated by commas")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of turns to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/turns:", err)
		os.Exit(1)
	}
}

// serveModel reads a file in each conversation's first turn, named by its prompt,
// until standard input ends.
func serveModel() int {
	srv, err := script.Serve(&script.Options{Keep: -1, Unchecked: true, Answer: func(r *script.Request) script.Turn {
		if r.Turn%2 == 1 {
			return script.Turn{Blocks: []script.Block{{Text: "done"}}}
		}
		input, _ := json.Marshal(map[string]string{"file_path": os.Getenv(modelEnv)}) // strings encode
		return script.Turn{Blocks: []script.Block{{Tool: "Read", Input: input}}}
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer srv.Close()
	fmt.Println(srv.URL())
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // ends with the program that started it
	return 0
}

func run(ctx context.Context, o *options) error {
	if o.work != "read" && o.work != "bash" && o.work != "mcp" && o.work != "crowd" {
		return fmt.Errorf("-work %q: use read, bash, mcp or crowd", o.work)
	}
	switch {
	case o.density:
		return density(ctx, o)
	case o.profile != "":
		return profile(ctx, o)
	}
	players := o.ours
	if players == nil {
		tmp, err := os.MkdirTemp("", "haft-turns-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		if players, err = buildOurs(ctx, tmp); err != nil {
			return err
		}
	}
	players = append(players, others(players[0], o.also)...)
	switch {
	case o.grow:
		return grow(ctx, o, players)
	case o.cpu:
		return compareCPU(ctx, o, players)
	}
	if o.peers {
		peers, err := installPeers(ctx, o)
		if err != nil {
			return err
		}
		players = append(players, peers...)
	}
	if players = chosen(players, o.only); len(players) == 0 {
		return errors.New("-only leaves nobody")
	}
	if o.resume {
		return resume(ctx, o, players)
	}
	return compare(ctx, o, players)
}

// installPeers installs them once.
func installPeers(ctx context.Context, o *options) ([]*player, error) {
	fmt.Fprintln(o.log, "installing peers, unless they are there")
	dir, err := needtest.Packages(ctx, packages...)
	if err != nil {
		return nil, err
	}
	return peers(filepath.Join(dir, "node_modules"))
}

// packages are the peers as npm has them.
var packages = []string{
	"@anthropic-ai/claude-agent-sdk-linux-x64@0.3.325",
	"opencode-linux-x64@1.18.33",
	"@openai/codex@0.166.0",
}

// buildOurs builds haft and the floor.
func buildOurs(ctx context.Context, dir string) ([]*player, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/haftdev/haft").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module of haft: %w", err)
	}
	var players []*player
	for _, a := range []player{{name: "haft", path: "cmd/haft", args: headlessFlags, env: []string{"IS_SANDBOX=1"}, mcp: true, resumes: true}, {name: "floor", path: "bench/turns/floor"}} {
		exe := filepath.Join(dir, a.name)
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", exe, ".")
		build.Dir = filepath.Join(strings.TrimSpace(string(root)), a.path) // each belongs to a module of its own
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", a.name, err, out)
		}
		a.path, a.read, a.bash = exe, claudeTools.read, claudeTools.bash
		players = append(players, &a)
	}
	return players, nil
}

func chosen(all []*player, only string) []*player {
	if only == "" {
		return all
	}
	var some []*player
	for _, a := range all {
		if strings.Contains(","+only+",", ","+a.name+",") {
			some = append(some, a)
		}
	}
	return some
}
