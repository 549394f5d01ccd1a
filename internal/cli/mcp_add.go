package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/bundle"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/spf13/cobra"
)

type addFlags struct {
	*mcpFlags
	scope, transport string
	env, headers     []string
	clientID         string
	clientSecret     bool
	callbackPort     int
	overwrite        bool
	config           []string // of a bundle or a server of a registry
	registry         string
	showPlace        bool // print what the entry starts or connects to: the user has not typed it
}

const scopeHelp = "where to save it: local (for you, in this project), project (for everyone, in .mcp.json) or user (for you, everywhere); defaults to local, or to user in your home folder"

func newMCPAdd(f *mcpFlags) *cobra.Command {
	a := &addFlags{mcpFlags: f}
	c := &cobra.Command{
		Use:   "add NAME URL | add NAME -- COMMAND [ARG…] | add [NAME] FILE.mcpb | add [NAME] REGISTRY/NAME",
		Short: message("Set up an MCP server"),
		Example: `  haft mcp add tracker https://mcp.example.com/
  haft mcp add --transport sse old https://old.example.com/sse --header 'X-Key: ${KEY}'
  haft mcp add files --env ROOT=/data -- npx -y @modelcontextprotocol/server-filesystem /data
  haft mcp add tracker.mcpb --config 'token=${TRACKER_TOKEN}'
  haft mcp add com.example/weather --registry servers.json`,
		Args: cobra.MinimumNArgs(0),
		RunE: func(c *cobra.Command, args []string) error { return a.add(c.Context(), args) },
	}
	c.Flags().StringVarP(&a.scope, "scope", "s", "", scopeHelp)
	c.Flags().StringVarP(&a.transport, "transport", "t", "", "stdio, http or sse; by default, derived from the arguments")
	c.Flags().StringArrayVarP(&a.env, "env", "e", nil, "NAME=VALUE for the server's environment; may be repeated")
	c.Flags().StringArrayVarP(&a.headers, "header", "H", nil, "'Name: value' to send with every request; may be repeated")
	c.Flags().StringVar(&a.clientID, "client-id", "", "id of an OAuth client that you registered in advance")
	c.Flags().BoolVar(&a.clientSecret, "client-secret", false, "the OAuth client has a secret, which is read from "+clientSecretEnv+" when the server is used")
	c.Flags().IntVar(&a.callbackPort, "callback-port", 0, "redirect port that the OAuth client was registered with")
	c.Flags().StringArrayVar(&a.config, "config", nil, "NAME=VALUE for a setting of a bundle or of a server from a registry; may be repeated")
	c.Flags().StringVar(&a.registry, "registry", "", "take the server from this registry: "+registryHelp)
	c.Flags().BoolVar(&a.overwrite, "overwrite", false, "replace a server of the same name")
	return c
}

func newMCPImport(f *mcpFlags) *cobra.Command {
	a := &addFlags{mcpFlags: f}
	c := &cobra.Command{
		Use: "import FILE", Short: message("Set up the MCP servers from another tool's configuration file"), Args: exactly(1),
		Long: `Set up the MCP servers from another tool's configuration file: Claude Desktop, Claude Code,
Cursor, VS Code, Windsurf, codex, gemini-cli and opencode are supported. From
~/.claude.json, servers for all projects are saved with the scope user, and those for this
project with the scope local.`,
		Example: "  haft mcp import ~/.cursor/mcp.json\n  haft mcp import ~/.codex/config.toml --scope user",
		RunE: func(c *cobra.Command, args []string) error {
			m, err := openServers(f.reexec)
			if err != nil {
				return err
			}
			entries, err := imported(args[0], m.Project.Dir)
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				return fmt.Errorf("%s contains no MCP servers", args[0])
			}
			if a.scope != "" || m.Project.Folder == nil { // all go to one file
				entries = firstOfEach(entries)
			}
			return a.keep(c.Context(), entries)
		},
	}
	c.Flags().StringVarP(&a.scope, "scope", "s", "", scopeHelp)
	c.Flags().BoolVar(&a.overwrite, "overwrite", false, "replace servers of the same name")
	return c
}

// add makes an entry of the command line.
func (f *addFlags) add(ctx context.Context, args []string) error {
	if n := len(args); (n == 1 || n == 2) && isBundle(args[n-1]) {
		return f.addBundle(ctx, args[n-1], args[:n-1])
	}
	if n := len(args); (n == 1 || n == 2 && f.registry != "") && (f.registry != "" || registryName.MatchString(args[0])) {
		return f.addFound(ctx, args[n-1], args[:n-1])
	}
	if f.registry != "" {
		return usageError{errors.New("--registry needs the name of a server there. Usage: haft mcp add [NAME] REGISTRY/NAME --registry FILE_OR_URL")}
	}
	if len(f.config) > 0 {
		return usageError{errors.New("--config is only for bundles (haft mcp add FILE.mcpb) and servers from a registry")}
	}
	if len(args) < 2 {
		return usageError{errors.New("give a name, and a URL or a command. Usage: haft mcp add NAME URL, or haft mcp add NAME -- COMMAND [ARG…]")}
	}
	if err := f.checkTransport(args[1]); err != nil {
		return err
	}
	s := mcp.Server{Type: mcp.Type(f.transport)}
	isURL := strings.HasPrefix(args[1], "https://") || strings.HasPrefix(args[1], "http://")
	if isURL && s.Type != mcp.Stdio {
		if len(args) > 2 {
			return usageError{fmt.Errorf("unexpected argument %q after the URL", args[2])}
		}
		s.URL = args[1]
		if s.Type == "" {
			s.Type = mcp.HTTP
		}
	} else {
		s.Command, s.Args, s.Type = args[1], args[2:], mcp.Stdio
	}
	var err error
	if s.Env, err = pairs("env", f.env, "="); err != nil {
		return err
	}
	if s.Headers, err = pairs("header", f.headers, ":"); err != nil {
		return err
	}
	if s.OAuth, err = f.oauth(); err != nil {
		return err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return f.keep(ctx, []config.Entry{{Name: args[0], Raw: raw}})
}

// checkTransport refuses what would be stored as something other than what was meant.
func (f *addFlags) checkTransport(target string) error {
	scheme, _, isURL := strings.Cut(target, "://")
	switch {
	case f.transport == "ws" || isURL && (scheme == "ws" || scheme == "wss"):
		return usageError{errors.New("WebSockets are not supported: give the server's http or https address")}
	case f.transport != "" && f.transport != string(mcp.Stdio) && f.transport != string(mcp.HTTP) && f.transport != string(mcp.SSE):
		return usageError{fmt.Errorf("--transport %s: use stdio, http or sse", f.transport)}
	case (f.transport == string(mcp.HTTP) || f.transport == string(mcp.SSE)) && !(isURL && (scheme == "http" || scheme == "https")):
		return usageError{fmt.Errorf("--transport %s needs an http or https address, not %q", f.transport, target)}
	}
	return nil
}

// clientSecretEnv holds the secret of an OAuth client: arguments are visible to every user,
// and an entry may be shared.
const clientSecretEnv = "MCP_CLIENT_SECRET"

// oauth is what the flags say about logins; nil if nothing.
func (f *addFlags) oauth() (json.RawMessage, error) {
	said := map[string]any{}
	if f.clientID != "" {
		said["clientId"] = f.clientID
	}
	if f.clientSecret {
		if f.clientID == "" {
			return nil, usageError{errors.New("--client-secret needs --client-id")}
		}
		said["clientSecret"] = "${" + clientSecretEnv + "}"
	}
	if f.callbackPort != 0 {
		said["callbackPort"] = f.callbackPort
	}
	if len(said) == 0 {
		return nil, nil
	}
	return json.Marshal(said)
}

// pairs reads the values of a flag, each NAME<sep>VALUE.
func pairs(flag string, list []string, sep string) (map[string]string, error) {
	var m map[string]string
	for _, p := range list {
		name, value, ok := strings.Cut(p, sep)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usageError{fmt.Errorf("--%s %q: write NAME%sVALUE", flag, p, sep)}
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return m, nil
}

// kept is an entry that was kept, as programs read it.
type kept struct {
	Name    string `json:"name"`
	Scope   string `json:"scope"`
	File    string `json:"file"`
	Skipped string `json:"skipped,omitempty"` // why it was not
	Place   string `json:"place,omitempty"`   // what it starts or connects to, where the user has not typed it
}

// keep writes entries to the file of the scope. A user who types them has approved them.
func (f *addFlags) keep(ctx context.Context, entries []config.Entry) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	var done []kept
	for _, e := range entries {
		scope, err := m.scope(cmp.Or(f.scope, e.Scope))
		if err != nil {
			return err
		}
		target, err := m.File(scope)
		if err != nil {
			return err
		}
		k := kept{Name: e.Name, Scope: scope.String(), File: target.Path}
		if err := m.acceptable(e, scope, f.overwrite); err != nil {
			if len(entries) == 1 {
				return err
			}
			k.Skipped = err.Error()
		} else if err := f.keepOne(ctx, target, scope, e); err != nil {
			return err
		}
		if f.showPlace {
			k.Place = placeOf(e)
		}
		done = append(done, k)
	}
	if f.json {
		return writeJSON(f.Out, done)
	}
	for _, k := range done {
		if k.Skipped != "" {
			fmt.Fprintf(f.Err, "%s: left out: %s\n", visible.Indented(k.Name), visible.Indented(k.Skipped))
			continue
		}
		fmt.Fprintf(f.Out, "%s: saved in %s\n", k.Name, k.File)
		if k.Place != "" {
			fmt.Fprintf(f.Out, "Connection: %s\n", visible.Name(k.Place))
		}
	}
	return nil
}

// placeOf is what an entry starts or connects to.
func placeOf(e config.Entry) string {
	var s mcp.Server
	if json.Unmarshal(e.Raw, &s) != nil {
		return ""
	}
	return describeServer(mcp.Status{Config: s}).place()
}

func (f *addFlags) keepOne(ctx context.Context, target settings.Target, scope settings.Source, e config.Entry) error {
	if err := editFile(ctx, target, putServer(e.Name, e.Raw)); err != nil {
		return err
	}
	now, err := project.Open(nil)
	if err != nil {
		return err
	}
	if item := now.Approval(e.Name, scope); item != nil {
		return now.Folder.Grant(ctx, *item)
	}
	return nil
}

// addBundle sets up the server of a bundle, unpacked to a folder named after its content,
// so that the same bundle is unpacked only once.
func (f *addFlags) addBundle(ctx context.Context, file string, name []string) error {
	b, err := bundle.Open(file)
	if err != nil {
		return err
	}
	defer b.Close()
	values, err := f.values()
	if err != nil {
		return err
	}
	dir, err := bundleDir(file)
	if err != nil {
		return err
	}
	s, err := b.Entry(dir, values)
	if err != nil {
		return usageError{err}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	entry := config.Entry{Name: bundleName(b.Manifest.Name), Raw: raw}
	if len(name) > 0 {
		entry.Name = name[0]
	}
	if _, err := os.Stat(dir); err != nil {
		if err := b.Unpack(dir); err != nil {
			return err
		}
	}
	return f.keep(ctx, []config.Entry{entry})
}

// values are what the user has set by --config.
func (f *addFlags) values() (map[string][]string, error) {
	values := map[string][]string{}
	for _, pair := range f.config {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--config %s: write NAME=VALUE", pair)}
		}
		values[key] = append(values[key], value)
	}
	return values, nil
}

// bundleDir is where a bundle is unpacked: in the user's configuration folder, by its
// content.
func bundleDir(file string) (string, error) {
	in, err := regular.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "haft", "mcp-bundles", hex.EncodeToString(sum.Sum(nil)[:12])), nil
}

// bundleName makes a manifest's name one that a server may have.
func bundleName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}

// registryName is what servers are called in registries.
var registryName = lazyregexp.New(`^[A-Za-z0-9.-]+/[A-Za-z0-9._-]+$`)

// addFound sets up a server of a registry, under a name that the user chose or the last
// part of its own.
func (f *addFlags) addFound(ctx context.Context, full string, name []string) error {
	if err := f.onlyForFound(full); err != nil {
		return err
	}
	r, err := openRegistry(f.reexec, f.registry)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	s, err := r.Find(ctx, full)
	if err != nil {
		return err
	}
	if s == nil {
		return usageError{fmt.Errorf("the registry has no server %q. To see what it has, run 'haft mcp search'", full)}
	}
	values, err := f.values()
	if err != nil {
		return err
	}
	e, err := s.Entry(f.transport, values)
	if err != nil {
		return usageError{errors.New(visible.Text(err.Error()))}
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	entry := config.Entry{Name: bundleName(full[strings.LastIndexByte(full, '/')+1:]), Raw: raw}
	if len(name) > 0 {
		entry.Name = name[0]
	}
	f.showPlace = true
	return f.keep(ctx, []config.Entry{entry})
}

// onlyForFound refuses what has no meaning for a server of a registry.
func (f *addFlags) onlyForFound(full string) error {
	switch {
	case !registryName.MatchString(full):
		return usageError{fmt.Errorf("%q is not the name of a server in a registry, such as com.example/weather", full)}
	case len(f.env)+len(f.headers) > 0:
		return usageError{errors.New("--env and --header do not apply to servers from a registry: set what the server asks for with --config NAME=VALUE")}
	case f.clientID != "" || f.clientSecret || f.callbackPort != 0:
		return usageError{errors.New("login flags do not apply to servers from a registry: set the server up by its address with 'haft mcp add NAME URL'")}
	}
	return f.checkTransport("")
}

// putServer sets the entry of a server.
func putServer(name string, entry json.RawMessage) edit {
	return func(document map[string]json.RawMessage) []patchOp {
		var ops []patchOp
		if document["mcpServers"] == nil {
			ops = append(ops, patchOp{"add", "/mcpServers", struct{}{}})
		}
		return append(ops, patchOp{"add", pointer("mcpServers", name), entry})
	}
}
