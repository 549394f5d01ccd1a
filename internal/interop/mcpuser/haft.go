package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A user has a program, a home, and a project there.
type user struct{ haft, home, project string }

// command is haft in the user's home, which nobody else has.
func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, u.haft, args...)
	cmd.Dir, cmd.WaitDelay = u.project, time.Second
	cmd.Env = []string{
		"HOME=" + u.home, "XDG_CONFIG_HOME=" + u.home + "/config", "XDG_CACHE_HOME=" + u.home + "/cache",
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"), "IS_SANDBOX=1", "ANTHROPIC_API_KEY=scripted",
	}
	return cmd
}

// run runs haft and returns what it writes, which the user reads.
func (u *user) run(ctx context.Context, args ...string) (string, error) {
	cmd := u.command(ctx, args...)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	fmt.Fprintf(os.Stderr, "$ haft %s\n%s", strings.Join(args, " "), all.String())
	return all.String(), err
}

// call calls a tool at the shell.
func (u *user) call(ctx context.Context, name, input string) error {
	out, err := u.run(ctx, "tools", "call", "mcp__"+server+"__"+name, input)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// loginAdvice is what haft says when the user has to log in.
var loginAdvice = regexp.MustCompile(`haft mcp login ` + server)

// maxLogins is how often a user follows the same advice.
const maxLogins = 5

// work calls a tool and logs in as often as haft says that it is needed.
func (u *user) work(ctx context.Context) error {
	for range maxLogins {
		out, err := u.run(ctx, "tools", "call", "mcp__"+server+"__test-tool", `{}`)
		if err == nil {
			return nil
		}
		if !loginAdvice.MatchString(out) {
			return fmt.Errorf("%w: %s", err, out)
		}
		if err := u.login(ctx); err != nil {
			return err
		}
	}
	return errors.New("haft keeps asking for logins")
}

var pageAddress = regexp.MustCompile(`^ +(http\S+)$`)

// login runs haft mcp login and opens the page that it names.
func (u *user) login(ctx context.Context) error {
	cmd := u.command(ctx, "mcp", "login", server, "--no-browser")
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var text strings.Builder
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		fmt.Fprintln(&text, lines.Text())
		if m := pageAddress.FindStringSubmatch(lines.Text()); m != nil {
			visit(ctx, m[1])
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, text.String())
	}
	return nil
}

// visit is a browser whose user agrees to everything.
func visit(ctx context.Context, page string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// A listedTool is a tool as haft mcp get lists it.
type listedTool struct {
	Name    string          `json:"name"`
	Offered string          `json:"offered"`
	Schema  json.RawMessage `json:"inputSchema"`
}

// tools are what haft lists.
func (u *user) tools(ctx context.Context) ([]listedTool, error) {
	out, err := u.command(ctx, "mcp", "get", server, "--json").Output()
	if err != nil {
		return nil, err
	}
	var listed struct {
		Tools []listedTool `json:"tools"`
	}
	err = json.Unmarshal(out, &listed)
	return listed.Tools, err
}

// callAll calls each tool that haft offers.
func (u *user) callAll(ctx context.Context) error {
	tools, err := u.tools(ctx)
	for _, t := range tools {
		if t.Offered != "" {
			_ = u.call(ctx, t.Name, `{"region":"us-west1"}`) // that it is called is what counts
		}
	}
	return err
}

// converse runs haft -p as a program does and answers what servers ask.
func (u *user) converse(ctx context.Context, model, prompt, answer string) error {
	cmd := u.command(ctx, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions")
	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+model)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	say := func(v any) {
		if err := json.NewEncoder(in).Encode(v); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	say(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
	done := sync.OnceFunc(func() { in.Close() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Type      string `json:"type"`
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%.600s\n", lines.Bytes())
		switch {
		case line.Type == "control_request" && line.Request.Subtype == "elicitation":
			say(map[string]any{"type": "control_response", "response": map[string]any{
				"subtype": "success", "request_id": line.RequestID,
				"response": map[string]any{"action": "accept", "content": json.RawMessage(answer)},
			}})
		case line.Type == "result":
			done()
		}
	}
	done()
	return cmd.Wait()
}
