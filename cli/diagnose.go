package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/model/provider"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/settings"
)

// diagnose looks at everything that a conversation here would use.
func (f *doctorFlags) diagnose(ctx context.Context) (*diagnosis, error) {
	p, err := harness.OpenProject(&harness.Options{Reexec: f.reexec})
	if err != nil {
		return nil, err
	}
	d := &diagnosis{Version: version(), Project: p.Dir}
	d.model(p)
	d.settings(p)
	d.policy(p)
	d.trust(p)
	if err := f.servers(ctx, p, d); err != nil {
		return nil, err
	}
	d.folders()
	d.programs()
	d.kernel()
	return d, nil
}

// model says who answers and where the key is from, never the key.
func (d *diagnosis) model(p *harness.Project) {
	set, _ := p.Counts.Text("model")
	_, info, err := provider.Open(&provider.Options{Model: set.Text})
	if errors.Is(err, provider.ErrNotConfigured) {
		text, advice, _ := strings.Cut(err.Error(), "\n")
		d.bad("model", text, strings.TrimSpace(advice))
		return
	} else if err != nil {
		d.bad("model", err.Error(), "")
		return
	}
	key := "with the key in " + info.KeySource
	if info.KeySource == "none" {
		key = "without a key"
	}
	d.ok("model", "%s by %s at %s, %s", info.Model, info.Provider, shownURL(info.Server), key)
	if u, err := url.Parse(info.Server); err == nil && u.Scheme == "http" && info.KeySource != "none" && !isLoopback(u.Hostname()) {
		d.warn("model", "the key and all that is said goes to "+u.Host+" unencrypted", "use an address that begins with https")
	}
}

// shownURL is an address without what may be secret in it.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that cannot be read"
	}
	u.RawQuery = ""
	return u.Redacted()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (d *diagnosis) settings(p *harness.Project) {
	var names []string
	for _, file := range p.Settings.Files() {
		names = append(names, fmt.Sprintf("%s (%s)", file.Path, file.Source))
	}
	if len(names) == 0 {
		names = []string{"there are none"}
	}
	d.ok("settings", "%s", strings.Join(names, ", "))
	for _, problem := range p.Settings.Problems() {
		if problem.Kind == settings.Skipped {
			d.bad("settings", problem.String()+"; nothing in it counts, its denials neither", "mend the file")
			continue
		}
		d.warn("settings", problem.String(), "")
	}
	for _, problem := range p.Library.Faults() {
		d.warn("knowledge", problem.String(), "")
	}
}

// policy says what judges calls, and that nothing else confines them.
func (d *diagnosis) policy(p *harness.Project) {
	opts, err := p.Policy()
	if err != nil {
		d.bad("permissions", err.Error(), "")
	}
	d.ok("permissions", "mode %s, %s", opts.Mode, count(len(opts.Rules), "rule", "rules"))
	for _, problem := range permission.NewPolicy(opts).Problems() {
		d.warn("permissions", problem.String(), "see what counts with: haft permissions list")
	}
	d.warn("sandbox", "there is none yet: commands that are allowed run with all your rights", "work in a container, or keep the rules narrow")
}

func (d *diagnosis) trust(p *harness.Project) {
	for _, h := range slices.Concat(p.Held, p.HeldClaims()) {
		d.warn("trust", h.String(), "see what the project asks for, and trust it, with: haft trust")
	}
	if p.Folder == nil {
		d.warn("trust", "there is nowhere to keep what you trust: nothing of the project counts", "set HOME or XDG_CONFIG_HOME")
	}
}

// servers says what is known of MCP servers without starting them, or starts them.
func (f *doctorFlags) servers(ctx context.Context, p *harness.Project, d *diagnosis) error {
	s, err := p.Servers()
	if err != nil {
		return err
	}
	m := &mcpServers{s}
	for _, w := range m.Warnings {
		d.warn("mcp", w, "")
	}
	if f.connect && len(m.List) > 0 {
		flags := &mcpFlags{Streams: f.Streams, reexec: f.reexec}
		infos, err := flags.connect(ctx, m, m.List)
		if err != nil {
			return err
		}
		for _, i := range infos {
			d.findings(examine(i))
		}
		return nil
	}
	for _, s := range m.List {
		d.server(s, m.untried(s))
	}
	if len(m.List) == 0 {
		d.ok("mcp", "no servers are set up")
	}
	return nil
}

func (d *diagnosis) findings(list []finding) {
	for _, x := range list {
		text := x.Server + ": " + x.Text
		switch x.Level {
		case "error":
			d.bad("mcp", text, x.Advice)
		case "warning":
			d.warn("mcp", text, x.Advice)
		default:
			d.ok("mcp", "%s", text)
		}
	}
}

// server says how one is as far as that can be told.
func (d *diagnosis) server(s mcp.Server, state mcp.State) {
	switch {
	case s.Problem != "":
		d.bad("mcp", s.Name+": "+s.Problem, "mend it in "+s.Origin)
	case state == mcp.Failed:
		d.warn("mcp", s.Name+": it is not allowed here", "ask your administrator")
	case state == "not approved":
		d.warn("mcp", s.Name+": the project asks for it, and you have not approved it", "look at it, and approve it, with: haft trust")
	default:
		d.ok("mcp", "%s: %s", s.Name, state)
	}
}

// folders must be there, or be possible to make, and be writable.
func (d *diagnosis) folders() {
	d.folder("sessions", session.Open("").Dir(), "make it writable, or name another with CLAUDE_CONFIG_DIR; until then use --no-session-persistence")
	if cache, err := os.UserCacheDir(); err == nil {
		d.folder("cache", filepath.Join(cache, "haft"), "make it writable, or name another with XDG_CACHE_HOME")
	} else {
		d.warn("cache", err.Error(), "set HOME or XDG_CACHE_HOME: long results are cut without it")
	}
}

func (d *diagnosis) folder(area, dir, advice string) {
	there := dir
	for {
		if _, err := os.Stat(there); err == nil || filepath.Dir(there) == there {
			break
		}
		there = filepath.Dir(there)
	}
	probe, err := os.CreateTemp(there, ".haft-doctor-*")
	if err != nil {
		d.bad(area, dir+" cannot be written: "+err.Error(), advice)
		return
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		d.warn(area, err.Error(), "")
	}
	d.ok(area, "%s", dir)
}

// helpers are programs that tools use.
var helpers = []struct {
	name, use string
	must      bool
}{
	{"bash", "Bash runs commands with it; install bash", true},
	{"git", "worktrees and checkpoints use it; install git", false},
	{"pdftotext", "Read shows the text of PDF pages with it; install poppler-utils", false},
}

func (d *diagnosis) programs() {
	var found []string
	for _, h := range helpers {
		switch _, err := exec.LookPath(h.name); {
		case err == nil:
			found = append(found, h.name)
		case h.must:
			d.bad("programs", "there is no "+h.name, h.use)
		default:
			d.warn("programs", "there is no "+h.name, h.use)
		}
	}
	d.ok("programs", "%s", strings.Join(found, ", "))
}

// fewWatches is less than the folders of a large repository.
const fewWatches = 65536

// kernel tells what of Linux makes a difference.
func (d *diagnosis) kernel() {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return // it is another system
	}
	watches, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err == nil && watches < fewWatches {
		d.warn("kernel", fmt.Sprintf("%d inotify watches: searches of large projects look at every file again", watches),
			fmt.Sprintf("sysctl fs.inotify.max_user_watches=%d", 8*fewWatches))
	}
	groups := "cgroups version 2"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		groups = "no cgroups version 2 at /sys/fs/cgroup: processes of commands are found by /proc to end them"
	}
	d.ok("kernel", "%d inotify watches, %s", watches, groups)
}
