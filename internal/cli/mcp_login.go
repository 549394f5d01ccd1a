package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/world/mcp/oauth"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// loginTime is how long a user may take at the authorization server's page.
const loginTime = 10 * time.Minute

// account returns the user's account at a server.
func account(name string) (*oauth.Client, error) {
	m, err := openServers(shellrun.Reexec{})
	if err != nil {
		return nil, err
	}
	s, err := m.find(name)
	if err != nil {
		return nil, err
	}
	if v := m.Approve(s); !v.Allowed {
		return nil, errors.New(v.Reason)
	}
	if s.URL == "" {
		return nil, fmt.Errorf("the server %q is a program on this machine: there is nothing to log in to", name)
	}
	l, err := project.Logins()
	if err != nil {
		return nil, err
	}
	return l.Client(s)
}

// loginFromScreen logs in without using the terminal, which belongs to the screen: show is
// called with the page.
func loginFromScreen(ctx context.Context, name string, show func(page string)) error {
	c, err := account(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	return c.Login(ctx, func(port int) (oauth.UserAgent, error) {
		return oauth.NewLoopback(port, func(page string) {
			show(page)
			openBrowser(ctx, page)
		}, nil)
	})
}

type loginState struct {
	Name      string     `json:"name"`
	LoggedIn  bool       `json:"loggedIn"`
	Issuer    string     `json:"issuer,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
	Renewable bool       `json:"renewable"`
}

func loginInfo(name string, s oauth.State) loginState {
	i := loginState{Name: name, LoggedIn: s.LoggedIn, Issuer: s.Issuer, Scopes: s.Scopes, Renewable: s.Renewable}
	if !s.Expires.IsZero() {
		i.Expires = &s.Expires
	}
	return i
}

// openBrowser shows a page to the user, if there is a screen.
func openBrowser(ctx context.Context, page string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.CommandContext(ctx, "open", page)
	case "windows":
		cmd = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", page)
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
		open, err := ownprogram.Find("xdg-open")
		if err != nil {
			return
		}
		cmd = exec.CommandContext(ctx, open, page)
	}
	if cmd.Start() == nil {
		go cmd.Wait() // its outcome does not matter: the address is on the screen
	}
}
