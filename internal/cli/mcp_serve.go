package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/spf13/cobra"
)

// tokenEnv holds the token of an HTTP server: arguments are visible to every user.
const tokenEnv = "HAFT_MCP_TOKEN"

// defaultHTTP is where --http listens when it is given no address.
const defaultHTTP = "127.0.0.1:8717"

type serveFlags struct {
	*mcpFlags
	http    string
	origins []string
	tools   []string
	bare    bool
	trust   projectTrust
}

func newMCPServe(f *mcpFlags) *cobra.Command {
	s := &serveFlags{mcpFlags: f}
	c := &cobra.Command{
		Use:   "serve",
		Short: message("Offer haft's tools to an MCP client"),
		Long: `Offer haft's tools to an MCP client, on standard input and output or over HTTP.

Calls go through the same pipeline as a model's calls: the same rules, hooks and limits.
If the user must be asked, the question goes through the client, if the client supports
that; otherwise the call is denied, with the reason.

Over HTTP, every request must carry a bearer token: the one in ` + tokenEnv + `, which
is not printed, or else one that is created for this run and printed on standard error
(with --json, also on standard output).`,
		Example: `  haft mcp serve
  haft mcp serve --tools Read,Grep,Glob
  export ` + tokenEnv + `=$(openssl rand -hex 32)   # give this to the clients
  haft mcp serve --http 0.0.0.0:8717`,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	c.Flags().StringVar(&s.http, "http", "", "serve over HTTP at this address instead of the standard streams")
	c.Flags().Lookup("http").NoOptDefVal = defaultHTTP
	c.Flags().StringSliceVar(&s.origins, "origin", nil, "allow requests from web pages of this origin, in addition to this machine's")
	c.Flags().StringSliceVar(&s.tools, "tools", nil, "offer only these tools")
	c.Flags().BoolVar(&s.bare, "bare", false, "offer only "+strings.Join(builtin.Bare(), ", "))
	s.trust.define(c.Flags())
	return c
}

func (f *serveFlags) run(ctx context.Context) error {
	token := os.Getenv(tokenEnv)
	os.Unsetenv(tokenEnv) // commands must not see it
	if err := f.checkAddress(); err != nil {
		return err
	}
	say := remarks{f.Err}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Bare: f.bare, Notice: say.notice, TrustProject: f.trust.project, IgnoreProjectHooks: f.trust.ignoreHooks, IgnoreBadRules: f.trust.ignoreBadRules})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Project.Intact(); err != nil {
		return err
	}
	say.all(w.Warnings())
	set, err := f.pool(w)
	if err != nil {
		return err
	}
	caller, err := newMCPCaller(w, set, f.Err)
	if err != nil {
		return err
	}
	server, err := serve.New(offered(set), caller, &serve.Options{
		Version: version(), Instructions: "haft's tools for the project in " + w.Project.Dir + ". Paths are absolute. Read a file before you change it.",
		Log: slog.New(slog.NewTextHandler(f.Err, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	defer server.Close()
	if f.http != "" {
		return f.serveHTTP(ctx, server, token)
	}
	if err := server.Stdio(ctx, f.In, f.Out); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func newMCPCaller(w *harness.World, set *tool.Set, warnings io.Writer) (*mcpCaller, error) {
	audit, err := w.Audit()
	if err != nil {
		return nil, err
	}
	return &mcpCaller{
		world: w, set: set, err: warnings, turns: newTurns(),
		opts: sched.Options{Judge: w.Engine, Hooks: w.Hooks, Recorder: audit, Output: w.Project.Results(), Dir: w.Shell.Dir},
	}, nil
}

func (f *serveFlags) checkAddress() error {
	if f.http == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.http); err != nil {
		return usageError{fmt.Errorf("--http: %q is not an address such as %s", f.http, defaultHTTP)}
	}
	return nil
}

func (f *serveFlags) serveHTTP(ctx context.Context, server *serve.Server, token string) error {
	listener, err := net.Listen("tcp", f.http)
	if err != nil {
		return fmt.Errorf("could not serve MCP: %w", err)
	}
	about := map[string]string{"url": "http://" + listener.Addr().String() + "/mcp"}
	fmt.Fprintf(f.Err, "serving MCP at %s\n", about["url"])
	if token == "" {
		token = rand.Text() // others on this machine, and web pages, must not call
		about["token"] = token
		fmt.Fprintf(f.Err, "token for this run: %s (send it as \"Authorization: Bearer %s\"; set %s to choose one)\n", token, token, tokenEnv)
	}
	if f.json {
		if err := writeJSON(f.Out, about); err != nil {
			return err
		}
	}
	h := &http.Server{Handler: server.Handler(&serve.HTTPOptions{Token: token, Origins: f.origins}), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() {
		server.Close() // ends what runs, and so what would hold the next line up
		patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if h.Shutdown(patience) != nil {
			h.Close()
		}
	})
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("could not serve MCP: %w", err)
	}
	return nil
}

// pool is the tools that are offered: those that act on the world. Tools that act on a
// conversation (agents, plans, questions, task lists, skills, tool search) are not offered,
// because the client has its own conversation.
func (f *serveFlags) pool(w *harness.World) (*tool.Set, error) {
	var only, available []string
	pool := w.Pool(nil)
	all := pool.Set(&tool.Session{Flags: map[string]bool{bash.BackgroundFlag: true}})
	for _, t := range all.All() {
		if _, acts := servable[t.Name]; !acts {
			continue
		}
		available = append(available, t.Name)
		if f.tools == nil || slices.Contains(f.tools, t.Name) {
			only = append(only, t.Name)
		}
	}
	for _, name := range f.tools {
		if !slices.Contains(only, name) {
			return nil, usageError{fmt.Errorf("there is no tool %q to offer. Available tools: %s", name, strings.Join(available, ", "))}
		}
	}
	return tool.NewSet(all.Session(), pool.Tools(), nil, &tool.SetOptions{Only: only}), nil
}

// offered describes the pool to clients.
func offered(set *tool.Set) []serve.Tool {
	var tools []serve.Tool
	for _, t := range set.All() {
		how := servable[t.Name]
		// A later haft may add fields, and clients need not mind.
		output := bytes.ReplaceAll(lean(how.result.schema().View(nil).JSON()), []byte(`,"additionalProperties":false`), nil)
		tools = append(tools, serve.Tool{
			Name: t.Name, Title: t.Title, Description: set.Description(t), Input: lean(set.View(t).JSON()), Output: output, Hints: how.Hints, Long: how.long,
		})
	}
	return tools
}

// lean leaves out the dialect of a schema if it is the default of MCP.
func lean(schema json.RawMessage) json.RawMessage {
	return bytes.Replace(schema, []byte(`"$schema":"https://json-schema.org/draft/2020-12/schema",`), nil, 1)
}

// servable are the tools that clients get, with what is true for every call: a tool's marks
// are those of one input.
var servable = map[string]struct {
	serve.Hints
	long   bool // a client may leave the call and come back for it
	result resultForm
}{
	"Bash":         {long: true, result: resultOf[bashResult]()},
	"BashOutput":   {Hints: serve.Hints{ReadOnly: true, Closed: true}, result: resultOf[backgroundResult]()},
	"Edit":         {Hints: serve.Hints{Closed: true}, result: resultOf[changeResult]()},
	"Glob":         {Hints: serve.Hints{ReadOnly: true, Closed: true}, result: resultOf[globResult]()},
	"Grep":         {Hints: serve.Hints{ReadOnly: true, Closed: true}, result: resultOf[grepResult]()},
	"KillShell":    {Hints: serve.Hints{Idempotent: true, Closed: true}, result: resultOf[textResult]()},
	"MultiEdit":    {Hints: serve.Hints{Closed: true}, result: resultOf[changeResult]()},
	"NotebookEdit": {Hints: serve.Hints{Closed: true}, result: resultOf[textResult]()},
	"Read":         {Hints: serve.Hints{ReadOnly: true, Closed: true}, result: resultOf[readResult]()},
	"Sleep":        {Hints: serve.Hints{ReadOnly: true, Closed: true}, long: true, result: resultOf[textResult]()},
	"WebFetch":     {Hints: serve.Hints{ReadOnly: true}, long: true, result: resultOf[fetchResult]()},
	"WebSearch":    {Hints: serve.Hints{ReadOnly: true}, long: true, result: resultOf[textResult]()},
	"Write":        {Hints: serve.Hints{Idempotent: true, Closed: true}, result: resultOf[changeResult]()},
}
