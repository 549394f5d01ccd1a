// Package toolhost says how haft's tools are started on another machine: by a command that
// runs 'haft mcp serve' in a folder there and connects its standard streams.
//
//	host, err := toolhost.Parse("ssh://build@example.com/srv/project")
//	servers = append(servers, host.Server())
//
// Everything else follows from these streams: the haft there validates, judges and bounds
// each call by its own rules, asks by elicitation, and ends what it started when its standard
// input ends. It is sent calls and answers only. It gets neither the journal nor the
// environment of this process, so it has no key of a model.
//
// Trust: an address is foreign input. Nothing in it becomes an option of a program or a word
// of a shell. The machine itself is trusted with the calls that it is sent, and with what it
// says about its tools. Everything is safe for concurrent use.
package toolhost

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// Name is that of the MCP server whose tools are those of the host.
const Name = "toolhost"

// A Host is a folder on a machine where tools run.
type Host struct {
	// Address is what the user wrote, and Dir the folder there.
	Address, Dir string

	machine string
	command string
	args    []string
	pass    []string // variables that the command needs besides those of every server
}

// Server is the MCP server that runs the tools there.
func (h *Host) Server() mcp.Server {
	env := map[string]string{}
	for _, name := range h.pass {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return mcp.Server{
		Name: Name, Scope: "dynamic", Origin: "--tools-on", Type: mcp.Stdio, Command: h.command, Args: h.args, Env: env,
		Trusted: true, AlwaysLoad: true,
	}
}

// Machine is what users call the machine: its name without a user, a port and a folder.
func (h *Host) Machine() string { return h.machine }

// Facts is what a model is told about where its tools work.
func (h *Host) Facts() string {
	return fmt.Sprintf("Your files, commands and network are on another machine, %s, in the folder %s there. The tools whose names begin with mcp__%s__ work on that machine and are the only ones that do; "+
		"paths are those of that machine. Its platform and repository are not known yet: find out with these tools. If the folder has instructions for agents, such as AGENTS.md, HAFT.md or CLAUDE.md, read them first.", h.Address, h.Dir, Name)
}

// ways are the kinds of addresses. Each is a command that starts a program elsewhere and
// connects its standard streams.
var ways = []struct {
	prefix string
	parse  func(address string) (*Host, error)
}{
	{"ssh://", parseSSH},
	{"docker:", parseDocker},
}

// Parse reads an address: ssh://[user@]host[:port]/dir or docker:CONTAINER:/dir.
func Parse(address string) (*Host, error) {
	for _, way := range ways {
		if !strings.HasPrefix(address, way.prefix) {
			continue
		}
		h, err := way.parse(address)
		if err == nil {
			err = checkDir(h.Dir)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", visible.Indented(address), err)
		}
		h.Address = address
		return h, nil
	}
	return nil, fmt.Errorf("%q is not the address of a tool host: use ssh://[user@]host[:port]/dir or docker:CONTAINER:/dir", visible.Indented(address))
}

func checkDir(dir string) error {
	switch {
	case !path.IsAbs(dir):
		return errors.New("give the full path of the folder there, such as /srv/project")
	case visible.Name(dir) != dir || strings.Contains(dir, `\`): // not every login shell reads a backslash alike
		return errors.New("the folder's name contains characters that cannot be passed on: make a link to it with another name")
	}
	return nil
}

var (
	userName  = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)
	hostName  = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	container = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// sshOptions take precedence over the user's configuration of ssh, which says everything
// else: nobody can be asked, the connection is only for the streams and lends the host nothing,
// and one that is dead ends.
var sshOptions = []string{
	"-T", "-a", "-x", "-oBatchMode=yes", "-oClearAllForwardings=yes", "-oControlMaster=no", "-oControlPath=none", "-oRemoteCommand=none",
	"-oConnectTimeout=20", "-oServerAliveInterval=15", "-oServerAliveCountMax=3",
}

func parseSSH(address string) (*Host, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a valid address: use one such as ssh://user@host:22/dir")
	}
	args := append([]string{}, sshOptions...)
	switch _, secret := u.User.Password(); {
	case secret:
		return nil, errors.New("it must not contain a password; use an SSH key instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("write ? and # in the folder's name as %3F and %23")
	case !hostName.MatchString(u.Hostname()) && net.ParseIP(u.Hostname()) == nil:
		return nil, errors.New("it does not name a host: write the name after ssh://, such as ssh://build.example.com/srv/project")
	}
	if u.User != nil {
		if !userName.MatchString(u.User.Username()) {
			return nil, errors.New("its user name contains characters that cannot be passed on: set User in ~/.ssh/config instead")
		}
		args = append(args, "-l", u.User.Username())
	}
	if u.Port() != "" {
		if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("its port is not a number from 1 to 65535")
		}
		args = append(args, "-p", u.Port())
	}
	args = append(args, "--", u.Hostname(), "exec sh -c "+quote(start)+" sh "+quote(u.Path))
	return &Host{Dir: u.Path, machine: u.Hostname(), command: "ssh", args: args, pass: []string{"SSH_AUTH_SOCK"}}, nil
}

// quote makes one word for the login shell there, of which only single quotes are certain.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func parseDocker(address string) (*Host, error) {
	name, dir, _ := strings.Cut(strings.TrimPrefix(address, "docker:"), ":")
	if !container.MatchString(name) {
		return nil, errors.New("it does not name a container: write its name after docker:, such as docker:web-1:/app; 'docker ps' lists them")
	}
	return &Host{
		Dir: dir, machine: "container " + name, command: "docker", args: []string{"exec", "-i", name, "sh", "-c", start, "sh", dir},
		pass: []string{"DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"},
	}, nil
}

// start runs on the host with the folder as its argument. Shells without a login often lack
// the folders where users install programs.
const start = `PATH="$PATH:/usr/local/bin:$HOME/.local/bin:$HOME/go/bin"; export PATH; ` +
	`cd -- "$1" || { echo "The folder $1 cannot be entered on this host." >&2; exit 1; }; ` +
	`command -v haft >/dev/null 2>&1 || { echo "haft is not installed on this host. Install it there, in a folder of PATH such as /usr/local/bin: go install github.com/haftdev/haft/cmd/haft@latest" >&2; exit 127; }; ` +
	`exec haft mcp serve`
