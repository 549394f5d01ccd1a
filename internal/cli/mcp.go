package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/oauth"
	"github.com/haftdev/haft/internal/world/mcp/wirelog"
	"github.com/haftdev/haft/internal/world/shellrun"
	"mvdan.cc/sh/v3/syntax"
)

// mcpFlags are what the commands under "haft mcp" share.
type mcpFlags struct {
	Streams
	reexec shellrun.Reexec
	json   bool
}

func (f *mcpFlags) remove(ctx context.Context, name, scope string) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	s, err := m.entry(name)
	if err != nil {
		return err
	}
	elsewhere := scope != "" && scope != s.Scope
	if scope == "" {
		scope = s.Scope
	}
	source, err := settings.ParseSource(scope)
	if err != nil {
		return usageError{err}
	}
	for _, t := range m.Files(source) {
		found := false
		if err := editFile(ctx, t, dropServer(name, &found)); err != nil {
			return err
		}
		if found {
			return f.done(kept{Name: name, Scope: scope, File: t.Path}, "removed from")
		}
	}
	if elsewhere {
		return usageError{fmt.Errorf("the server %q is not in the scope %s: it is set up in %s (scope %s)", name, scope, s.Origin, s.Scope)}
	}
	return fmt.Errorf("the server %q is set up in %s, which haft does not change", name, s.Origin)
}

// dropServer removes the entry of a server, if there is one.
func dropServer(name string, found *bool) edit {
	return func(document map[string]json.RawMessage) []patchOp {
		var servers map[string]json.RawMessage
		if json.Unmarshal(document["mcpServers"], &servers) != nil || servers[name] == nil {
			return nil
		}
		*found = true
		return []patchOp{{Op: "remove", Path: pointer("mcpServers", name)}}
	}
}

// toggle switches a server off or on.
func (f *mcpFlags) toggle(ctx context.Context, name string, off bool) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	s, err := m.entry(name)
	if err != nil {
		return err
	}
	source, err := settings.ParseSource(s.Scope)
	if err != nil {
		return err
	}
	word := "enabled in"
	if off {
		word = "disabled in"
	}
	change, targets := switchEntry(name, off), m.Files(source)
	if source == settings.Project {
		t, err := m.Project.Target(settings.Local)
		if err != nil {
			return err
		}
		change, targets = switchProject(name, off), []settings.Target{t}
		defer project.Untracked(t.Path) // once it is there; the change takes effect anyway
	}
	if len(targets) == 0 || source == settings.Managed {
		return fmt.Errorf("the server %q is set up in %s, which haft does not change", name, s.Origin)
	}
	wasTrusted := !m.Waiting(name)
	for _, t := range targets {
		if err := editFile(ctx, t, change); err != nil {
			return err
		}
	}
	if now, err := project.Open(nil); err == nil && wasTrusted && source == settings.Local {
		if item := now.Approval(name, source); item != nil { // turning it on or off does not change what it does
			if err := now.Folder.Grant(ctx, *item); err != nil {
				return err
			}
		}
	}
	return f.done(kept{Name: name, Scope: s.Scope, File: targets[0].Path}, word)
}

// done reports what was changed.
func (f *mcpFlags) done(k kept, word string) error {
	if f.json {
		return writeJSON(f.Out, k)
	}
	_, err := fmt.Fprintf(f.Out, "%s: %s %s\n", k.Name, word, k.File)
	return err
}

// offerClaude lists servers of Claude Code that are not set up here, and says how to import
// them.
func (f *mcpFlags) offerClaude(m *mcpServers) {
	path := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), m.Project.Home), claudeFile)
	entries, err := imported(path, m.Project.Dir)
	if err != nil {
		return // there is none, or its owner has to fix it
	}
	var names []string
	for _, e := range firstOfEach(entries) {
		if !slices.ContainsFunc(m.List, func(s mcp.Server) bool { return s.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	word, err := syntax.Quote(path, syntax.LangBash)
	if err == nil && len(names) > 0 {
		fmt.Fprintf(f.Err, "Claude Code has MCP servers that are not set up here: %s. To set them up, run: haft mcp import %s\n", visible.Indented(strings.Join(names, ", ")), visible.Indented(word))
	}
}

func (f *mcpFlags) doctor(ctx context.Context) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	findings := []finding{}
	for _, w := range m.Warnings {
		findings = append(findings, finding{Level: "warning", Text: w})
	}
	infos, err := f.connect(ctx, m, m.List)
	if err != nil {
		return err
	}
	for _, i := range infos {
		findings = append(findings, examine(i)...)
	}
	bad := 0
	for _, x := range findings {
		if x.Level == "error" {
			bad++
		}
	}
	if f.json {
		err = writeJSON(f.Out, findings)
	} else {
		err = f.tell(findings)
	}
	if err == nil && bad > 0 {
		return errors.New(count(bad, "server does", "servers do") + " not work")
	}
	return err
}

var levelMarks = map[string]string{"ok": "✓", "warning": "!", "error": "✗"}

func (f *mcpFlags) tell(findings []finding) error {
	if len(findings) == 0 {
		_, err := fmt.Fprintln(f.Out, "No MCP servers are set up. Add one with: haft mcp add")
		return err
	}
	for _, x := range findings {
		fmt.Fprintf(f.Out, "%s ", levelMarks[x.Level])
		if x.Server != "" {
			fmt.Fprintf(f.Out, "%s: ", visible.Indented(x.Server))
		}
		fmt.Fprintf(f.Out, "%s\n", visible.Indented(x.Text))
		if x.Advice != "" {
			fmt.Fprintf(f.Out, "  → %s\n", visible.Indented(x.Advice))
		}
	}
	return nil
}

// switchEntry switches a server off in its own entry, or on again.
func switchEntry(name string, off bool) edit {
	return func(document map[string]json.RawMessage) []patchOp {
		var servers map[string]map[string]json.RawMessage
		if json.Unmarshal(document["mcpServers"], &servers) != nil || servers[name] == nil {
			return nil
		}
		switch is := string(servers[name]["disabled"]) == "true"; {
		case off && !is:
			return []patchOp{{"add", pointer("mcpServers", name, "disabled"), true}}
		case !off && is:
			return []patchOp{{Op: "remove", Path: pointer("mcpServers", name, "disabled")}}
		}
		return nil
	}
}

// switchProject disables a project's server in the user's own list, or enables it again:
// the project's file is shared.
func switchProject(name string, off bool) edit {
	const key = "disabledMcpjsonServers"
	return func(document map[string]json.RawMessage) []patchOp {
		var names, kept []string
		if json.Unmarshal(document[key], &names) != nil && document[key] != nil {
			return nil
		}
		for _, n := range names {
			if n != name {
				kept = append(kept, n)
			}
		}
		if off {
			kept = append(kept, name)
		}
		if len(kept) == len(names) {
			return nil
		}
		if len(kept) == 0 {
			return []patchOp{{Op: "remove", Path: pointer(key)}}
		}
		return []patchOp{{"add", pointer(key), kept}}
	}
}

func (f *mcpFlags) get(ctx context.Context, name string) error {
	i, err := f.connectOne(ctx, name)
	if err != nil {
		return err
	}
	return f.showOne(i)
}

func (f *mcpFlags) reconnect(ctx context.Context, name string) error {
	i, err := f.connectOne(ctx, name)
	if err != nil {
		return err
	}
	if err := f.showOne(i); err != nil {
		return err
	}
	if i.Status != string(mcp.Connected) {
		return errors.New("the server " + name + " is not connected")
	}
	return nil
}

// connectOne tries one server.
func (f *mcpFlags) connectOne(ctx context.Context, name string) (serverInfo, error) {
	m, err := openServers(f.reexec)
	if err != nil {
		return serverInfo{}, err
	}
	s, err := m.find(name)
	if err != nil {
		return serverInfo{}, err
	}
	infos, err := f.connect(ctx, m, []mcp.Server{s})
	if err != nil {
		return serverInfo{}, err
	}
	i := infos[0]
	path := wirelog.Path(project.WireLogs(), name)
	if _, err := os.Stat(path); err == nil {
		i.Log = path
	}
	return i, nil
}

func (f *mcpFlags) showOne(i serverInfo) error {
	if f.json {
		return writeJSON(f.Out, i)
	}
	return show(f.Out, i)
}

// connect tries all servers at once, and returns the results.
func (f *mcpFlags) connect(ctx context.Context, m *mcpServers, servers []mcp.Server) ([]serverInfo, error) {
	h, end, err := m.Host(version())
	if err != nil {
		return nil, err
	}
	defer end()
	bounded, cancel := context.WithTimeout(ctx, mcpPatience)
	defer cancel()
	h.Start(servers)
	if err := h.Wait(bounded); err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	infos := []serverInfo{}
	for _, s := range h.Status() {
		infos = append(infos, m.withLogin(describeServer(s), s.Config))
	}
	return infos, nil
}

func (f *mcpFlags) list(ctx context.Context, offline bool) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	f.warnServers(m)
	f.offerClaude(m)
	var infos []serverInfo
	if offline {
		infos = []serverInfo{}
		for _, s := range m.List {
			infos = append(infos, describeServer(mcp.Status{State: m.untried(s), Config: s, Type: s.Type, Error: s.Problem}))
		}
	} else if infos, err = f.connect(ctx, m, m.List); err != nil {
		return err
	}
	if f.json {
		for _, i := range infos {
			for n := range i.Tools {
				i.Tools[n].Schema = nil // that of each tool is in haft mcp get
			}
		}
		return writeJSON(f.Out, infos)
	}
	if len(infos) == 0 {
		_, err := fmt.Fprintln(f.Out, "No MCP servers are set up. Add one with: haft mcp add")
		return err
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATUS\tSCOPE\tTOOLS\tSERVER")
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", visible.Indented(i.Name), i.Status, i.Scope, i.offered(), visible.Indented(oneLine(i.place())))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, i := range infos {
		if i.Reason != "" {
			fmt.Fprintf(f.Out, "\n%s: %s\n", visible.Indented(i.Name), visible.Indented(i.Reason))
		}
		if text := i.leftOut(); text != "" {
			fmt.Fprintf(f.Out, "\n%s: %s\n", visible.Indented(i.Name), visible.Indented(text))
		}
	}
	return nil
}

// warnServers reports problems with the files.
func (f *mcpFlags) warnServers(m *mcpServers) {
	m.Project.Warn(f.Err)
	for _, w := range m.Warnings {
		fmt.Fprintf(f.Err, "warning: %s\n", visible.Indented(w))
	}
}

func (f *mcpFlags) login(ctx context.Context, name string, noBrowser bool) error {
	c, err := account(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	var paste io.Reader
	if file, ok := f.In.(*os.File); ok && isTerminal(file) {
		paste = file
	}
	err = c.Login(ctx, func(port int) (oauth.UserAgent, error) {
		return oauth.NewLoopback(port, func(page string) {
			fmt.Fprintf(f.Err, "Log in at this page:\n\n  %s\n\n", page)
			if paste != nil {
				fmt.Fprintln(f.Err, "If the browser is on another machine, paste the address that it ends on here.")
			}
			if !noBrowser {
				openBrowser(ctx, page)
			}
		}, paste)
	})
	if err != nil {
		return err
	}
	return f.loggedIn(name, c)
}

// loggedIn reports what the login allows.
func (f *mcpFlags) loggedIn(name string, c *oauth.Client) error {
	state, err := c.State()
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, loginInfo(name, state))
	}
	_, err = fmt.Fprintf(f.Out, "%s: logged in at %s\n", name, state.Issuer)
	return err
}

func (f *mcpFlags) logout(ctx context.Context, name string) error {
	c, err := account(name)
	if err != nil {
		return err
	}
	was, err := c.Logout(ctx)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, loginState{Name: name})
	}
	text := "logged out"
	if !was {
		text = "you were not logged in"
	}
	_, err = fmt.Fprintf(f.Out, "%s: %s\n", name, text)
	return err
}

func (f *mcpFlags) replay(ctx context.Context, from string) error {
	text, err := readWireLog(from)
	if err != nil {
		return err
	}
	records, err := wirelog.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	played, err := wirelog.Replay(ctx, records)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, played)
	}
	i := describeServer(played.Status)
	i.Name, i.URL, i.Transport, i.Steps = from, "", "", nil // those belong to the playback
	if err := show(f.Out, i); err != nil {
		return err
	}
	for _, c := range played.Calls {
		fmt.Fprintf(f.Out, "\n%s %s\n", visible.Indented(c.Tool), visible.Indented(oneLine(string(c.Input))))
		outcome := c.Text
		switch {
		case c.Error != "":
			outcome = "error: " + c.Error
		case c.Failed:
			outcome = "failed: " + outcome
		}
		if _, err := fmt.Fprintf(f.Out, "  %s\n", visible.Indented(outcome)); err != nil {
			return err
		}
	}
	return nil
}

// readWireLog reads a file, or both generations of a server's log.
func readWireLog(from string) ([]byte, error) {
	if text, err := os.ReadFile(from); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	path := wirelog.Path(project.WireLogs(), from)
	newer, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("there is no file %q and no log of a server with that name: turn on the setting mcp.log, then use the server", from)}
	}
	if err != nil {
		return nil, err
	}
	older, err := os.ReadFile(wirelog.Older(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append(older, newer...), nil
}
