package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// helperTime is how long a headersHelper may take.
const helperTime = 10 * time.Second

// headers returns the function that says which headers a server's requests get:
// the configured ones and those that its helper prints. The helper runs once,
// and again when the server refuses what it printed.
func (p *peer) headers() func(ctx context.Context, again bool) (map[string]string, error) {
	cfg := p.cfg
	if cfg.HeadersHelper == "" {
		return func(context.Context, bool) (map[string]string, error) { return cfg.Headers, nil }
	}
	var mu sync.Mutex
	var known map[string]string
	return func(ctx context.Context, again bool) (map[string]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if known != nil && !again {
			return known, nil
		}
		printed, err := p.runHelper(ctx)
		if err != nil {
			return nil, err
		}
		known = maps.Clone(cfg.Headers)
		if known == nil {
			known = make(map[string]string)
		}
		maps.Copy(known, printed)
		return known, nil
	}
}

// runHelper runs the command that prints headers as a JSON object. It gets the
// environment of a server, not the harness's.
func (p *peer) runHelper(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", p.cfg.HeadersHelper)
	cmd.Dir = p.host.opts.Dir
	cmd.Env = append(childEnv(p.host.opts.Environ, p.cfg.Env),
		"HAFT_MCP_SERVER_NAME="+p.name, "HAFT_MCP_SERVER_URL="+p.cfg.URL,
		"CLAUDE_CODE_MCP_SERVER_NAME="+p.name, "CLAUDE_CODE_MCP_SERVER_URL="+p.cfg.URL)
	cmd.WaitDelay = time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("no answer within %s", helperTime)
		}
		if said := strings.TrimSpace(errs.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, shorten(said, 500))
		}
		return nil, fmt.Errorf("headersHelper failed: %w", err)
	}
	var headers map[string]string
	if err := json.Unmarshal(out, &headers); err != nil {
		return nil, fmt.Errorf("headersHelper must print a JSON object of strings: %w", err)
	}
	return headers, nil
}
