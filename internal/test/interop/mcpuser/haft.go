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
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/model/script"
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

// entry is what the scenario's user would write down about the server.
func (u *user) entry(url, scenario string, facts *told) ([]byte, error) {
	oauth := map[string]any{}
	if strings.HasPrefix(scenario, "auth/") {
		oauth["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
		oauth["dpop"] = strings.HasPrefix(scenario, "auth/dpop")
	}
	if facts.ClientID != "" {
		oauth["clientId"], oauth["clientSecret"] = facts.ClientID, facts.ClientSecret
	}
	switch scenario {
	case "auth/client-credentials-jwt":
		key := filepath.Join(u.home, "key.pem")
		if err := os.WriteFile(key, []byte(facts.PrivateKey), 0o600); err != nil {
			return nil, err
		}
		oauth["grant"], oauth["privateKeyFile"] = "client-credentials", key
		delete(oauth, "clientSecret")
	case "auth/client-credentials-basic":
		oauth["grant"] = "client-credentials"
	case "auth/wif-jwt-bearer":
		oauth["grant"], oauth["assertion"] = "workload-identity", facts.ValidJWT
	case "auth/enterprise-managed-authorization":
		oauth["grant"] = "enterprise"
		oauth["identityProvider"] = map[string]any{"tokenEndpoint": facts.TokenEndpoint, "clientId": facts.IDPClient, "idToken": facts.IDPToken}
	}
	return json.Marshal(map[string]any{"type": "http", "url": url, "oauth": oauth})
}

// act does what a scenario wants to see beyond a connection.
func (u *user) act(ctx context.Context, scenario string, facts *told) error {
	switch scenario {
	default:
		if strings.HasPrefix(scenario, "auth/") {
			return u.work(ctx)
		}
		out, err := u.run(ctx, "mcp", "get", server)
		if err != nil || !strings.Contains(out, "connected") {
			return fmt.Errorf("%v: %s", err, out)
		}
	case "tools_call":
		return u.call(ctx, "add_numbers", `{"a":5,"b":3}`)
	case "sse-retry":
		return u.call(ctx, "test_reconnection", `{}`)
	case "http-custom-headers":
		for _, c := range facts.ToolCalls {
			_ = u.call(ctx, c.Name, string(c.Arguments)) // some are meant to fail
		}
	case "http-invalid-tool-headers":
		return u.callAll(ctx)
	case "elicitation-sep1034-client-defaults":
		return u.talk(ctx, "go ahead", `{}`, []string{"test_client_elicitation_defaults"})
	case "sep-2322-client-request-state":
		return u.talk(ctx, "go ahead", `{"confirmed":true}`, []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"})
	case "json-schema-2020-12-preservation":
		return u.echo(ctx)
	case "http-standard-headers":
		return u.useEverything(ctx)
	}
	return nil
}

// talk has the model call tools in a conversation whose user gives the same answer to
// every question.
func (u *user) talk(ctx context.Context, prompt, answer string, tools []string) error {
	var turns []script.Turn
	for _, name := range tools {
		turns = append(turns, script.Turn{Blocks: []script.Block{{Tool: "mcp__" + server + "__" + name, Input: json.RawMessage(`{}`)}}})
	}
	return u.play(ctx, prompt, answer, (&script.Scenario{Turns: turns}).Answer())
}

func (u *user) play(ctx context.Context, prompt, answer string, model script.AnswerFunc) error {
	m, err := script.Serve(&script.Options{Answer: model})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := u.converse(ctx, m.URL(), prompt, answer); err != nil {
		return err
	}
	if refused := m.Refused(); len(refused) > 0 {
		return errors.New(strings.Join(refused, "\n"))
	}
	return nil
}

// echo sends a schema back as haft shows it. The model gets another: providers take no
// allOf at the top of a schema.
func (u *user) echo(ctx context.Context) error {
	tools, err := u.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			return u.call(ctx, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, t.Schema))
		}
	}
	return errors.New("haft does not list the tool")
}

// useEverything uses one thing of each kind, so that the suite sees each: a tool, a
// resource from the list of them, and a prompt as a command.
func (u *user) useEverything(ctx context.Context) error {
	through := func(tool, input string) script.Turn {
		return script.Turn{Blocks: []script.Block{{Tool: "CallTool", Input: fmt.Appendf(nil, `{"tool":%q,"input":%s}`, tool, input)}}}
	}
	err := u.play(ctx, "go ahead", `{}`, func(r *script.Request) script.Turn {
		switch r.Turn {
		case 0:
			return script.Turn{Blocks: []script.Block{{Tool: "mcp__" + server + "__test_headers", Input: json.RawMessage(`{}`)}}}
		case 1:
			return script.Turn{Blocks: []script.Block{{Tool: "ToolSearch", Input: json.RawMessage(`{"query":"select:ListMcpResources,ReadMcpResource"}`)}}}
		case 2:
			return through("ListMcpResources", `{}`)
		case 3:
			return through("ReadMcpResource", fmt.Sprintf(`{"server":%q,"uri":%q}`, server, listed.Find(r.Body)))
		}
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	})
	if err != nil {
		return err
	}
	return u.talk(ctx, "/mcp__"+server+"__test_prompt", `{}`, nil)
}

// listed finds the address of a resource in what the model reads.
var listed = regexp.MustCompile(`file:///[^\\" ]+`)
